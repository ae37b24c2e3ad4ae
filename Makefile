# Two commands do everything on a fresh Debian or Ubuntu machine:
#
#   make run     installs what is missing, builds, and shows a day in the life of an agent
#   make test    installs what is missing, and runs every test
#
# make run CMD='COMMAND' [POLICY=FILE|TEMPLATE]    runs COMMAND in a sandbox instead

# The value as it was typed: make must not expand a $ that is meant for the shell.
export BAILIWICK_CMD := $(value CMD)
export BAILIWICK_POLICY := $(value POLICY)

.PHONY: help run test
.SILENT:

help:
	sed -n 's/^# \{0,1\}//p' Makefile | sed '/^The value/,$$d'

run:
	scripts/setup --for run
	scripts/run

test:
	scripts/setup --for test
	scripts/test
