//! Files of the host that a run reaches by no other name and by no later run.

use crate::support::{Background, Sandbox};

const DEFAULT: &str = "extends = [\"default\"]\n";

#[test]
fn a_program_that_a_policy_starts_outside_is_kept() {
    let sandbox = Sandbox::new().file("get.sh", "#!/bin/sh\necho USER-SECRET-123456\n");
    sandbox.host("chmod +x get.sh");
    let program = sandbox.workspace().join("get.sh");
    let policy = format!(
        "{DEFAULT}[network]\nallow = [\"a.test\"]\n[[secrets]]\nname = \"K\"\nfrom = {{ command = [\"{}\"] }}\nhosts = [\"a.test\"]\n",
        program.display()
    );
    let before = sandbox.host("cat get.sh");
    let spoil = "echo touch PWNED >> get.sh; rm -f get.sh; mv get.sh x; chmod 0 get.sh";
    let given = sandbox.policy(&policy);
    given.run(spoil).failure().refused_by("filesystem.protect");
    assert_eq!(given.host("cat get.sh"), before);
    let words = ["run", "-c", spoil];
    given.bailiwick(words).failure();
    assert_eq!(given.host("cat get.sh"), before);
}

#[test]
fn a_file_is_changed_by_none_but_its_own_name() {
    let acts =
        "echo x >> a; : > b; chmod 700 c; touch d; ln e e2; echo x >> e2; rm e2; python3 -c '
import os
os.truncate(\"f\", 1)
kept = os.open(\"g\", os.O_RDONLY)
try: os.open(\"/proc/self/fd/%d\" % kept, os.O_RDWR)
except PermissionError: print(\"refused\")
os.fchmod(kept, 0o600)
os.utime(\"h\", (1, 1))
try: open(\"i\", \"w\")
except PermissionError: print(\"refused\")
'; cat i; echo 1 > own; ln own other; echo 2 >> own; cat other; stat -c '%a %s' c f g";
    let bare = || Sandbox::new().without_namespaces();
    for sandbox in [Sandbox::new(), bare()] {
        let look = "cd ../outside; stat -c '%n %a %s %Y %i' *; cat *";
        sandbox.host("mkdir ../outside; for i in a b c d e f g h i; do echo mine > ../outside/$i; ln ../outside/$i $i; done; chmod 444 i; touch -d yesterday *; chmod 644 c f g; python3 -c 'import os; os.setxattr(\"a\", \"user.k\", b\"v\")' 2> /dev/null || touch ../none");
        let before = sandbox.host(look);
        let outcome = sandbox.run(acts);
        outcome
            .success()
            .stdout_is("refused\nrefused\nmine\n1\n2\n700 5\n644 1\n600 5\n");
        assert_eq!(sandbox.host(look), before);
        let kept = sandbox.host("test -e ../none && echo \"b'v'\" || python3 -c 'import os; print(os.getxattr(\"a\", \"user.k\"))'");
        assert_eq!(kept, "b'v'\n");
    }
}

#[test]
fn a_name_that_somebody_else_gives_a_file_later_is_not_written_through() {
    let sandbox = Sandbox::new().file("f", "mine\n").file("g", "mine\n");
    let sandbox = sandbox.file("d/h", "mine\n");
    // The last names are told by two paths each, of which one leads through a link.
    let script = "ln f f2; rm f2; ln g g2; echo x > n; ln n n2; rm n n2; \
        ln d/h d/i; ln d/h d/j; mv d e; ln -s e d; rm e/i; ln e/h e/i; echo ready; read line; \
        echo evil >> f; echo evil > new; echo evil >> g; echo evil >> e/h";
    let words = ["run", "--", "sh", "-c", script];
    let mut running = Background::start(&sandbox, words, "ready");
    sandbox.host("mkdir ../b; ln f ../b/f; ln g ../b/g; ln e/h ../b/h; echo mine > ../b/new; ln ../b/new new");
    running.types("go\n");
    assert_eq!(running.ends(), Some(0));
    assert_eq!(sandbox.host("cat ../b/*"), "mine\nmine\nmine\nmine\n");
}
