// Races of a program that wants out of a share, or to write what is protected in it: one thread changes
// what a path means while the other uses it. Whether one was won is seen on the host; a secret that was
// read is said here.
//
// races SHARE OUTSIDE ROUNDS [RACE …]: SHARE is a writable folder with `.git/hooks`, `.env` (denied) and
// `bailiwick.toml` (protected); OUTSIDE is a path of the host that is not shared.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static const char *share, *outside;
static long rounds;
static atomic_int stop;
static char link_to[8][4096];
static int links;
static char buffer[65536];

static void put(int fd) {
    if (fd < 0) return;
    if (write(fd, "won", 3) < 0) { /* refused */ }
    close(fd);
}

static void look(int fd) {
    if (fd < 0) return;
    char text[64] = {0};
    if (read(fd, text, 63) > 0 && strstr(text, "canary")) printf("ESCAPED: read %s\n", text);
    close(fd);
}

static void create(const char *path) { put(open(path, O_WRONLY | O_CREAT, 0777)); }

static void swap(const char *a, const char *b) {
    if (!syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2)) return;
    rename(a, "spare");
    rename(b, a);
    rename("spare", b);
}

// Has `way` be a folder and a link in turn.
static void *swaps(void *unused) {
    (void)unused;
    for (long n = 0; !stop; n++) {
        unlink("link");
        if (symlink(link_to[n % links], "link")) { /* there */ }
        for (int i = 0; i < 8 && !stop; i++) swap("way", "link");
    }
    return 0;
}

static void leads(const char *to) { snprintf(link_to[links++], 4096, "%s", to); }
static void leads_out(void) {
    leads("/"); leads("/etc"); leads("../.."); leads("../../../../../../.."); leads(outside);
    leads("/proc/self/root"); leads("/proc/1/root"); leads("/share/..");
}
static void leads_in(void) { leads(".git"); leads(share); leads("."); leads(".git/hooks"); }

static void outward(long n) {
    (void)n;
    create("way/planted");
    look(open("way/canary", O_RDONLY));
    create("way/canary");
    mkdir("way/planted.d", 0777);
    if (truncate("way/canary", 1)) { /* refused */ }
    chmod("way/canary", 0666);
    rename("plain", "way/planted.plain");
    create("plain");
}

static void inward(long n) {
    create("way/hooks/pre-commit");
    create("way/.mcp.json");
    create("way/pre-commit");
    rename("plain", n % 2 ? "way/hooks/post-commit" : "way/post-commit");
    if (link("plain", "way/hooks/pre-push")) { /* refused */ }
    if (symlink("plain", "way/.mcp.json")) { /* refused */ }
    mkdir("way/.vscode", 0777);
    create("way/bailiwick.toml");
    if (truncate("way/bailiwick.toml", 0)) { /* refused */ }
    look(open("way/.env", O_RDONLY));
    create("plain");
}

static void *links_swap(void *unused) {
    (void)unused;
    const char *to[] = {".env", "bailiwick.toml", "plain", outside};
    for (long n = 0; !stop; n++) {
        unlink("file.new");
        if (symlink(to[n % 4], "file.new")) { /* there */ }
        rename("file.new", "file");
    }
    return 0;
}

static void hard_link(long n) {
    unlink("hard");
    if (!linkat(AT_FDCWD, n % 2 ? "file" : ".env", AT_FDCWD, "hard", AT_SYMLINK_FOLLOW)) {
        look(open("hard", O_RDONLY));
    }
    unlink("hard");
    if (!link("bailiwick.toml", "hard")) create("hard");
    int fd = open(n % 2 ? "bailiwick.toml" : ".env", O_PATH);
    char path[64];
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    unlink("hard");
    if (!linkat(fd, "", AT_FDCWD, "hard", AT_EMPTY_PATH)
        || !linkat(AT_FDCWD, path, AT_FDCWD, "hard", AT_SYMLINK_FOLLOW)) {
        look(open("hard", O_RDONLY));
        create("hard");
    }
    close(fd);
    if (linkat(AT_FDCWD, "file", AT_FDCWD, ".mcp.json", AT_SYMLINK_FOLLOW)) { /* refused */ }
}

static void *moves(void *unused) {
    (void)unused;
    while (!stop) {
        mkdir("moving", 0777);
        rename("moving", "moved");
        rename("moved", "moving");
        rename(".git", "git");
        rename("git", ".git");
    }
    return 0;
}

static void renaming(long n) {
    create("moving/pre-commit");
    create("moved/pre-commit");
    rename("moving", ".git/hooks");
    rename("moved/pre-commit", ".git/hooks/pre-commit");
    rename("moving", ".vscode");
    mkdir("git", 0777);
    mkdir("git/hooks", 0777);
    create("git/hooks/pre-commit");
    swap("moving", ".git");
    syscall(SYS_renameat2, AT_FDCWD, "plain", AT_FDCWD, n % 2 ? "bailiwick.toml" : ".mcp.json", n % 3);
    create("plain");
}

static void nodes(long n) {
    const mode_t kinds[] = {S_IFCHR, S_IFBLK};
    const dev_t devices[] = {makedev(1, 1), makedev(1, 5), makedev(8, 0), makedev(253, 0), makedev(7, 0)};
    if (!mknod("node", kinds[n % 2] | 0666, devices[n % 5])) {
        int fd = open("node", O_RDWR);
        if (fd >= 0) printf("ESCAPED: a device was opened\n");
        close(fd);
        unlink("node");
    }
    mknod("way/pipe", S_IFIFO | 0666, 0);
    mknod(".mcp.json", S_IFREG | 0666, 0);
}

static void attributes(long n) {
    size_t length = n % 3 ? (size_t)(n * 37 % 65536) : 65536;
    char name[300] = "user.";
    memset(name + 5, 'x', 200);
    snprintf(name + 205, 64, "%ld", n % 7);
    create("attributed");
    setxattr("attributed", name, buffer, length, 0);
    getxattr("attributed", name, buffer, n % 70000 % 65536);
    listxattr("attributed", buffer, n % 2 ? 65536 : 1);
    removexattr("attributed", name);
    // A capability of the file's, which the host's kernel would give to who executes it.
    const char capability[20] = {0, 0, 0, 2, (char)0xff, (char)0xff, (char)0xff, (char)0xff};
    setxattr("attributed", "security.capability", capability, 20, 0);
    setxattr("way/canary", "user.won", "won", 3, 0);
    setxattr("bailiwick.toml", "user.won", "won", 3, 0);
}

static int deepest = -1, top = -1;

// To dig takes the square of the depth where a path is walked for each call: not for a few rounds.
static int depth(void) { return rounds < 100 ? 200 : 1000; }

static void dig(void) {
    mkdir("deep", 0777);
    mkdir("other", 0777);
    int fd = open("deep", O_PATH | O_DIRECTORY);
    for (int i = 0; i < depth(); i++) {
        mkdirat(fd, "d", 0777);
        int next = openat(fd, "d", O_PATH | O_DIRECTORY);
        if (next < 0) break;
        close(fd);
        fd = next;
    }
    deepest = fd;
    top = open(".", O_PATH | O_DIRECTORY);
}

static void *shakes(void *unused) {
    (void)unused;
    while (!stop) {
        rename("deep/d/d/d", "other/d");
        rename("other/d", "deep/d/d/d");
        rename("deep", "other/deep");
        rename("other/deep", "deep");
    }
    return 0;
}

static void upwards(long n) {
    static char up[4096];
    if (!up[0]) for (int i = 0; i < 1024; i++) strcat(up, "../");
    // Some steps too many in most rounds, in others as many as there are.
    int end = 3 * (n % 5 ? depth() + 22 : depth());
    up[end] = 0;
    int fd = openat(deepest, up, O_PATH | O_DIRECTORY);
    up[end] = '.';
    if (fd >= 0) {
        put(openat(fd, "planted", O_WRONLY | O_CREAT, 0666));
        look(openat(fd, "canary", O_RDONLY));
        int further = openat(fd, "../../../../../../../..", O_PATH | O_DIRECTORY);
        if (further >= 0) {
            put(openat(further, "planted", O_WRONLY | O_CREAT, 0666));
            put(openat(further, outside + 1, O_WRONLY | O_CREAT, 0666));
            look(openat(further, outside + 1, O_RDONLY));
            close(further);
        }
        close(fd);
    }
}

static void handles(long n) {
    const char *names[] = {"bailiwick.toml", ".env", ".git", ".git/hooks", "way", "."};
    int fd = open(names[n % 6], O_PATH | (n % 7 ? 0 : O_NOFOLLOW));
    char path[128];
    snprintf(path, 128, "/proc/self/fd/%d", fd);
    look(open(path, O_RDONLY));
    put(open(path, O_WRONLY));
    chmod(path, 0777);
    snprintf(path, 128, "/proc/self/fd/%d/../../../..%.60s", fd, outside);
    create(path);
    snprintf(path, 128, "/proc/self/fd/%d/pre-commit", fd);
    create(path);
    snprintf(path, 128, "/proc/self/task/%d/cwd/../.mcp.json", (int)getpid());
    create(path);
    close(fd);
    // A file without a name gets one.
    fd = open(".", O_TMPFILE | O_RDWR, 0666);
    if (fd >= 0) {
        snprintf(path, 128, "/proc/self/fd/%d", fd);
        linkat(AT_FDCWD, path, AT_FDCWD, n % 2 ? ".mcp.json" : ".git/hooks/pre-commit", AT_SYMLINK_FOLLOW);
        close(fd);
    }
}

static char word[2][128];
static char *volatile spoken = word[0];

// Changes the bytes of a path while a call reads them.
static void *speaks(void *unused) {
    (void)unused;
    const char *names[] = {"aaaaaaaaa", ".mcp.json", "aaaaaaaaa", "../canary", ".git/conf", "bailiwick"};
    for (long n = 0; !stop; n++) memcpy((char *)spoken, names[n % 6], 9);
    return 0;
}

static void spoken_paths(long n) {
    char *path = (char *)spoken;
    switch (n % 5) {
    case 0: create(path); break;
    case 1: mkdir(path, 0777); break;
    case 2: rename("plain", path); create("plain"); break;
    case 3: if (link("plain", path)) { /* refused */ } break;
    default: if (symlink("plain", path)) { /* refused */ }
    }
    if (truncate(path, 0)) { /* refused */ }
    unlink("aaaaaaaaa");
    rmdir("aaaaaaaaa");
}

static void dots(long n) {
    char path[4096] = "way/";
    for (long i = 0; i < 1 + n % 40; i++) strcat(path, n % 3 ? "../" : ".././");
    size_t length = strlen(path);
    snprintf(path + length, 4096 - length, "%s", outside + 1);
    look(open(path, O_RDONLY));
    create(path);
    snprintf(path + length, 4096 - length, "planted");
    create(path);
    path[length - 1] = 0;
    if (symlink(path, "up")) { /* there */ }
    create("up/planted");
    unlink("up");
}

static const struct race {
    const char *name;
    void (*prepare)(void);
    void *(*other)(void *);
    void (*round)(long);
} races[] = {
    {"link-out", leads_out, swaps, outward},
    {"link-in", leads_in, swaps, inward},
    {"hard-link", 0, links_swap, hard_link},
    {"rename", 0, moves, renaming},
    {"node", leads_out, swaps, nodes},
    {"attribute", leads_out, swaps, attributes},
    {"deep", dig, shakes, upwards},
    {"handle", leads_out, swaps, handles},
    {"memory", 0, speaks, spoken_paths},
    {"dots", leads_out, swaps, dots},
};

static void run(const struct race *race) {
    struct timespec from, to;
    if (chdir(share)) exit(2);
    mkdir(race->name, 0777);
    mkdir("way", 0777);
    create("plain");
    links = 0;
    stop = 0;
    if (race->prepare) race->prepare();
    pthread_t other;
    if (pthread_create(&other, 0, race->other, 0)) exit(3);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long n = 0; n < rounds; n++) race->round(n);
    clock_gettime(CLOCK_MONOTONIC, &to);
    stop = 1;
    pthread_join(other, 0);
    double took = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    printf("%s: %ld rounds, %.1f us each\n", race->name, rounds, took * 1e6 / (double)rounds);
    fflush(stdout);
}

int main(int count, char **words) {
    if (count < 4) return 2;
    share = words[1];
    outside = words[2];
    rounds = atol(words[3]);
    umask(0);
    for (size_t i = 0; i < sizeof races / sizeof *races; i++) {
        int wanted = count == 4;
        for (int at = 4; at < count; at++) wanted |= !strcmp(words[at], races[i].name);
        if (wanted) run(&races[i]);
    }
    return 0;
}
