//! Images: a kernel and a root file system, made from what a distribution signs.
