//! Cases of what leads git somewhere else: references, addresses of remotes, files that lead to a git folder, links.

use super::Case;

pub(super) const CASES: &[Case] = &[
    // A remote is no way to read a repository that the sandbox does not see, or to overwrite one.
    Case {
        name: "a remote that is a folder",
        before: "git init -q ../private; (cd ../private && echo secret > s && git add s && git -c user.name=u -c user.email=u commit -qm s && git branch victim)",
        inside: "git init -q mine; p=$(dirname \"$PWD\")/private; for u in $p file://$p ../private mine/../../private; do git remote remove origin; \
            git remote add origin $u; git config remote.origin.url $u; git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'; \
            git config remote.origin.pushurl $u; done; ln -s ../private link; git remote add linked link; git remote add good ./mine; \
            git remote add far https://127.0.0.1:9/x; \
            P=$(awk -v h=\"$HOME/.cache\" '$5 == h {print $4}' /proc/self/mountinfo); c=${XDG_CACHE_HOME:-$HOME/.cache}; P=${P:-$c}; \
            git init -q --bare \"$c/evil.git\"; printf '#!/bin/sh\\ntouch PWNED\\n' > \"$c/evil.git/hooks/pre-receive\"; chmod +x \"$c/evil.git/hooks/pre-receive\"; \
            git -C mine remote add origin \"$P/evil.git\"; git -C mine config user.name u; git -C mine config user.email u@t.test",
        after: "git fetch origin; git fetch linked; git fetch --multiple origin linked; git push -f origin main:victim; cd mine; git fetch --all; git commit -q --allow-empty -m x; \
            git push -f origin HEAD:x",
        holds: "! git cat-file -p $(git -C ../private rev-parse HEAD) && test -z \"$(find . ../state -name PWNED)\" && test \"$(git config remote.good.url)\" = ./mine && \
            test \"$(git config remote.far.url)\" = https://127.0.0.1:9/x && git -C ../private show victim:s | grep -q secret",
    },
    // A reference that leads out of the folder of references: git writes where it leads.
    Case {
        name: "references that lead out",
        before: "git init -q b; git init -q --bare bare.git; echo '# mine' > ../rc",
        inside: "for d in .git b/.git bare.git; do for r in ORIG_HEAD refs/stash refs/heads/x HEAD; do \
                for t in refs/../../../rc refs/../../rc refs/heads/../../../../rc config hooks/pre-commit /rc; do \
                    echo \"ref: $t\" > $d/$r; printf \"ref:\\t$t\\n\\n\" > $d/x.lock; echo \"ref: $t\" > t; mv t $d/$r; mkdir -p $d/logs/z; echo \"ref: $t\" > $d/logs/z/y; mv $d/logs/z $d/refs/z; \
            done; done; done; git config core.logAllRefUpdates always; sleep 0.2",
        after: "grep -rl 'ref:.*rc\\|ref:.*config\\|ref:.*hooks' .git/HEAD .git/ORIG_HEAD .git/refs b/.git/HEAD b/.git/refs b/.git/ORIG_HEAD bare.git/HEAD bare.git/refs bare.git/ORIG_HEAD > ../bad; \
            git symbolic-ref HEAD > /dev/null || git symbolic-ref HEAD refs/heads/main; echo 2 > f; git stash -q; git reset -q --hard; git fetch -q . HEAD:x",
        holds: "test ! -s ../bad -a \"$(cat ../rc)\" = '# mine' && test ! -e .git/hooks/pre-commit",
    },
    // Folders of references that would be repositories themselves.
    Case {
        name: "repositories among references",
        before: "git init -q --bare ../up.git; git remote add origin ../up.git; git worktree add -q w; git push -q -u origin main",
        inside: "for d in .git/refs .git/logs/refs .git/logs .git/worktrees/w/refs .git/worktrees/w/logs .git/worktrees/w/logs/refs .git/refs/heads .git/refs/remotes/origin; do \
            mkdir -p $d/objects $d/refs $d/hooks; printf '#!/bin/sh\\ntouch PWNED\\n' > $d/hooks/pre-receive; chmod +x $d/hooks/pre-receive; \
            printf '[core]\\nbare = true\\nfsmonitor = \"touch PWNED; false\"\\n' > $d/config; echo 'ref: refs/heads/x' > $d/HEAD; done; \
            git config remote.origin.pushurl \"$PWD/.git/logs/refs\"; git config remote.x.url \"$PWD/.git/refs\"",
        after: "echo 2 > f; git commit -qam b; git push -q; git push -q x main; for d in .git/refs .git/logs/refs .git/logs .git/worktrees/w/refs; do git -C $d rev-parse --is-bare-repository; git -C $d status; done",
        holds: "test -z \"$(find . ../up.git -name PWNED)\" && ! find .git/refs .git/logs .git/worktrees/w \\( -name config -o -name objects -o -name hooks \\) | grep -v '/refs/heads/\\|/refs/remotes/' | grep .",
    },
    // An address that is a path, and a link there afterwards.
    Case {
        name: "links at the addresses of remotes",
        before: "git init -q ../private; cd ../private; echo secret > s; git add s; git -c user.name=t -c user.email=t@t.test commit -qm s; cd -; git init -q mine; git remote add good ./mine",
        inside: "git remote add origin $PWD/lnk; ln -s ../private lnk; git remote add o2 ./d/lnk; mkdir d; ln -s ../../private d/lnk; mkdir e; ln -s ../../private e/lnk; rmdir d; mv e d; \
            mv mine m2; ln -s ../private mine",
        after: "git fetch -q origin; git fetch -q o2; git fetch -q good",
        holds: "! git cat-file -e $(git -C ../private rev-parse HEAD)",
    },
    // Other spellings of a path, places where git looks as well, and remotes without an address.
    Case {
        name: "other ways to a folder",
        before: "git init -q ../s; cd ../s; echo secret > k; git add k; git -c user.name=t -c user.email=t@t.test commit -qm k; cd -; git init -q --bare ../up.git; git remote add origin $PWD/../up.git; git push -q -u origin main",
        inside: "top=$(dirname $PWD); for u in file://localhost$top/s file://$PWD/%2e%2e/s FILE://$top/s ext://sh; do git config remote.origin.url $u; git remote add r$(echo $u | cksum | cut -c 1-4) $u; done; \
            git remote add l $PWD/lnk; ln -s ../s lnk.git; git config --unset remote.origin.url; ln -s ../s origin; \
            git config remote.m.fetch '+refs/heads/*:refs/remotes/m/*'; git config branch.main.remote m; ln -s ../s m; ln -s ../s m.git",
        after: "git fetch --all; git fetch; git fetch origin; git fetch m; git fetch l",
        holds: "! git cat-file -e $(git -C ../s rev-parse HEAD)",
    },
    // What git puts aside it applies at the next commit, whoever has put it there.
    Case {
        name: "a stash that git applies by itself",
        before: "mkdir .husky; printf '#!/bin/sh\\n' > .husky/pre-commit; chmod +x .husky/pre-commit; git config core.hooksPath .husky; git add .; git commit -qm s; git branch other; echo 9 > f; git commit -qam nine; git switch -q other; echo 8 > f; git commit -qam eight",
        inside: "export GIT_INDEX_FILE=.git/index.tmp; git read-tree HEAD; git update-index --add --cacheinfo 100755,$blob,.husky/pre-commit; \
            W=$(git write-tree); I=$(git commit-tree -p HEAD -m I HEAD^{tree}); C=$(git commit-tree -p HEAD -p $I -m WIP $W); rm .git/index.tmp; unset GIT_INDEX_FILE; \
            echo $C > .git/MERGE_AUTOSTASH; echo $C > x; mv x .git/MERGE_AUTOSTASH; echo $C > .git/x.lock; mv .git/x.lock .git/MERGE_AUTOSTASH; \
            git rebase main; echo $C > .git/rebase-merge/autostash; echo $C > .git/rebase-merge/a.lock; mv .git/rebase-merge/a.lock .git/rebase-merge/autostash",
        after: "git rebase --abort; echo 2 > f; git commit -qam b; echo 3 > f; git commit -qam c",
        holds: "test ! -e PWNED -a \"$(cat .husky/pre-commit)\" = '#!/bin/sh'",
    },
    // Links that lead elsewhere once another link is turned, on the way from a gitlink to a repository of the run's own.
    Case {
        name: "links by turns",
        before: "mkdir -p ../docs",
        inside: "W=$PWD; c=${XDG_CACHE_HOME:-$HOME/.cache}; git config --global user.name t; git config --global user.email t@t.test; git init -q \"$c/r\"; cd \"$c/r\"; echo a > a; git add a; git commit -qm a; git worktree add -q \"$c/x\"; \
            printf '[core]\\n\\tfsmonitor = touch %s/PWNED;:\\n' $W >> .git/config; cd $W; \
            P=$(awk -v h=\"$c\" '$5 == h {print $4}' /proc/self/mountinfo); P=${P:-$c}; P=../${P#$(dirname $W)/}; \
            git init -q d; cd d; echo a > a; git add a; git commit -qm a; git worktree add -q ../x; cd ..; ln -s d l2; ln -s l2 l1; \
            printf 'gitdir: %s/l1/.git/worktrees/x\\n' $PWD > x/.git; git update-index --add --cacheinfo 160000,$(git -C x rev-parse HEAD),x; \
            mkdir q; ln -s \"q/$P/r\" pkg; rm l2; ln -s \"q/$P/r\" l2; rmdir q; ln -s ../docs q; mkdir -p s/q; ln -s \"../q/$P/r\" s/r; mv s/r r2; mv s s2; ln -s ../docs s; \
            git init -q g; mkdir h; ln -s ../g h/g; mv h/g g2",
        after: "git status -s; for i in pkg x l2 l1 d s2/r r2 g2; do (cd $i && git status); done",
        holds: "test ! -e PWNED -a ! -L q -a ! -L pkg -a \"$(readlink l1)\" = l2",
    },
    // A working tree through a link that lies inside.
    Case {
        name: "a working tree through a link",
        before: "mkdir -p ../cfg/git; echo mine > ../cfg/git/config",
        inside: "git config --global user.name t; git config --global user.email t@t.test; git init -q sub; cd sub; mkdir git; echo PWNED > git/config; git add -A; git commit -qm s; cd ..; mkdir d; ln -s d sm; \
            mkdir -p .git/modules/sm; cp -r sub/.git/objects sub/.git/refs sub/.git/HEAD sub/.git/index sub/.git/config .git/modules/sm/; \
            echo 'gitdir: ../.git/modules/sm' > d/.git; git config -f .git/modules/sm/config core.worktree ../../../sm && touch SET; mv d e; ln -s ../cfg d",
        after: "cd e; git status; git checkout .",
        holds: "test \"$(cat ../cfg/git/config)\" = mine -a ! -L d -a ! -e SET",
    },
];
