//! Full disks: the machine's own, which is memory, and the host's below the workspace. The command is
//! told, and what was there is what it was.

use crate::{alone, machine};

#[test]
fn a_machine_whose_disk_is_full_says_so_and_goes_on() {
    let _alone = alone();
    let sandbox = machine();
    let ran = sandbox.file("kept", "kept").run(
        "echo before > /var/tmp/before
head -c 4G /dev/zero > /var/tmp/big; echo \"first $?\"
echo more > /var/tmp/more || echo none
cat /var/tmp/before kept
rm /var/tmp/big
echo after > /var/tmp/after && cat /var/tmp/after
echo written > written",
    );
    ran.code(0).stderr_has("No space left on device");
    let said = ran.stdout();
    assert!(said.contains("first 1\n"), "{said}");
    assert!(said.ends_with("before\nkeptafter\n"), "{said}");
    assert_eq!(sandbox_file(&ran.workspace(), "written"), "written\n");
}

fn sandbox_file(folder: &std::path::Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn a_workspace_on_a_full_disk_of_the_host_is_the_commands_own_affair() {
    let _alone = alone();
    let sandbox = machine();
    // Neither bytes nor names wait in the machine: whoever writes hears of it.
    for option in ["size=4m", "size=64m,nr_inodes=20"] {
        let text = sandbox
            .elsewhere(&format!(
                r#"
mnt tmpfs {option} "$WS"
cd "$WS"
head -c 100000 /dev/urandom > kept
sum=$(sha256sum < kept)
bw run --backend vm -- sh -c 'for n in $(seq 40); do
    head -c 200000 /dev/zero > $n || echo no room
done; sync; echo more >> kept.2 || echo none; exit 4' 2>&1
test "$sum" = "$(sha256sum < kept)" && echo same
rm -f 1 2 3
bw run --backend vm -- sh -c 'head -c 100000 kept > copy && cmp kept copy && echo copied' 2>&1
cmp kept copy && echo copied outside
bw log verify 2>&1"#
            ))
            .stdout();
        assert!(text.contains("No space left on device"), "{text}");
        for line in [
            "no room\n",
            "exit 4\n",
            "same\n",
            "copied\nexit 0\n",
            "copied outside\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(text.contains("intact"), "{text}");
    }
}
