"""Turns titles into the last part of a web address."""


def slug(title):
    return title.lower().replace(" ", "-")
