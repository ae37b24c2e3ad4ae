#!/usr/bin/env bash
# The Linux guest that the scaling proof is compared with, alone: the same parts of the same work, the same
# verifier. Options are those of scripts/capos-scale.
exec "$(dirname "$0")/../scripts/capos-scale" --linux "$@"
