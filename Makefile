# These do everything on a fresh Debian or Ubuntu machine, and install what is missing first:
#
#   make run     builds for whoever tries it, and shows a day in the life of an agent
#   make dist    builds what is shipped: target/release/bailiwick and what lies beside it
#   make image   builds the image of micro-VMs, if it is not there
#   make test    runs every test
#   make check   runs the tests that your change can reach, in minutes
#   make soak    runs for hours what `make test` has in a short form (scripts/soak)
#
# make run CMD='COMMAND' [POLICY=FILE|TEMPLATE]    runs COMMAND in a sandbox instead
# make image IMAGE='NAME|FILE …'                   builds other images (docs/vm-images.md)
#
# The capability kernel (docs/capos.md): make run-smoke, run-spawn, run-smp-process-scale, run-thread-scale,
# linux-smp-process-scale-baseline

# The value as it was typed: make must not expand a $ that is meant for the shell.
export BAILIWICK_CMD := $(value CMD)
export BAILIWICK_POLICY := $(value POLICY)
export BAILIWICK_IMAGES := $(value IMAGE)

.PHONY: help run dist image test check soak run-smoke run-spawn run-smp-process-scale run-thread-scale linux-smp-process-scale-baseline
.SILENT:

help:
	sed -n 's/^# \{0,1\}//p' Makefile | sed '/^The value/,$$d'

run:
	scripts/setup --for run
	scripts/run

image:
	scripts/setup --for image
	scripts/image

dist:
	scripts/setup --for run
	scripts/build

test:
	scripts/setup --for test
	scripts/test

check:
	scripts/setup --for test
	scripts/test --check

soak:
	scripts/setup --for test
	scripts/soak $(PARTS)

# Boots the smokes of the capability kernel (docs/capos.md).
run-smoke:
	scripts/setup --for kernel
	scripts/capos-smokes --group smoke

# The same of what has to do with processes: hostile spawns, waits, faults, quotas.
run-spawn:
	scripts/setup --for kernel
	scripts/capos-smokes --group spawn

# Measure how the capability kernel scales (docs/capos.md); WORDS are those of `capos-scale --help`.
run-smp-process-scale:
	scripts/setup --for kernel
	scripts/capos-scale --label process $(WORDS)

run-thread-scale:
	scripts/setup --for kernel
	scripts/capos-scale --variant thread --label thread $(WORDS)

linux-smp-process-scale-baseline:
	scripts/setup --for test
	# Its kernel is the image's, or LINUX_SMP_SCALE_KERNEL.
	[ -n "$$LINUX_SMP_SCALE_KERNEL" ] || \
	    ls "$${XDG_CACHE_HOME:-$$HOME/.cache}"/bailiwick/images/*.json >/dev/null 2>&1 || scripts/image
	tools/linux-smp-process-scale-baseline.sh --label process $(WORDS)
