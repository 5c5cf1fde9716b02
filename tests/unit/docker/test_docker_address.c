/* SPDX-License-Identifier: Apache-2.0 */
/* Where the engine is looked for: addresses, certificates, docker's contexts, sockets; and what is
 * said where it cannot be had. Each case has a directory of docker's configuration of its own. */
#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "backends/docker/engine/engine_address.h"
#include "backends/docker/engine/engine_fault.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "tap_suite.h"

#define TEXT(literal) ((char *)(uintptr_t)(literal))
#define REMOTE_ID     "b71199ebd070b36beab7317920c2c2f1d777df8d05e5527d8458fda57cb17a7a"
#define META          "contexts/meta/" REMOTE_ID "/meta.json"
#define CONTEXT_TLS   "contexts/tls/" REMOTE_ID "/docker"

static char directory[64];
static struct engine_address address;
static struct engine_fault fault;

static void set_up(void)
{
    (void)snprintf(directory, sizeof(directory), "/tmp/code-execute-address-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    memset(&address, 0, sizeof(address));
    memset(&fault, 0, sizeof(fault));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void tear_down(void)
{
    (void)nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The path below the directory; the next call but one overwrites it. */
static char *below(const char *name)
{
    static char paths[2][PATH_MAX];
    static int turn;
    turn = !turn;
    (void)snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", directory, name);
    return paths[turn];
}

static void put(const char *name, const char *text)
{
    char *path = below(name);
    for (char *slash = path + strlen(directory); (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void put_context(const char *host, const char *more)
{
    char text[1024];
    (void)snprintf(text, sizeof(text),
                   "{\"Name\":\"remote\",\"Metadata\":{},\"Endpoints\":{\"docker\":{\"Host\":"
                   "\"%s\"%s}}}",
                   host, more);
    put(META, text);
}

static struct docker_options asked(const char *host, const char *context, uint32_t tls)
{
    return (struct docker_options){.host = TEXT(host),
                                   .context = TEXT(context),
                                   .config_directory = directory,
                                   .certificates = TEXT(""),
                                   .tls = tls};
}

static bool resolve(const struct docker_options docker)
{
    return engine_address_resolve(&docker, &address, &fault);
}

static void refuses(const struct docker_options docker, enum engine_problem problem,
                    const char *words)
{
    struct engine_address before = address;
    ck_assert_msg(!resolve(docker), "taken: %s", address.base);
    ck_assert_msg(fault.problem == problem, "problem %d: %s", fault.problem, fault.message);
    ck_assert_msg(strstr(fault.message, words) != NULL, "no \"%s\": %s", words, fault.message);
    ck_assert_mem_eq(&before, &address, sizeof(before));
}

START_TEST(addresses)
{
    static const struct {
        const char *host;
        const char *base;
        const char *socket;
    } cases[] = {
        {"unix:///run/a.sock", "http://engine", "/run/a.sock"},
        {"tcp://127.0.0.1", "http://127.0.0.1:2375", ""},
        {"tcp://127.8.9.1:99", "http://127.8.9.1:99", ""},
        {"http://localhost:1", "http://localhost:1", ""},
        {"tcp://LocalHost:65535", "http://LocalHost:65535", ""},
        {"tcp://[::1]:5", "http://[::1]:5", ""},
        {"tcp://[::1]", "http://[::1]:2375", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        ck_assert_msg(resolve(asked(cases[i].host, "", 0)), "%s", fault.message);
        ck_assert_str_eq(address.base, cases[i].base);
        ck_assert_str_eq(address.socket_path, cases[i].socket);
        ck_assert_str_eq(address.certificates, "");
    }
}
END_TEST

START_TEST(an_invalid_address_is_refused)
{
    static const char *const hosts[] = {"docker",
                                        "/run/a.sock",
                                        "npipe:////./pipe/docker",
                                        "fd://",
                                        "unix://",
                                        "unix://a.sock",
                                        "ftp://localhost:1",
                                        "tcp://",
                                        "tcp://:1",
                                        "tcp://localhost:",
                                        "tcp://localhost:0",
                                        "tcp://localhost:65536",
                                        "tcp://localhost:1x",
                                        "tcp://localhost:1/a",
                                        "tcp://a@localhost:1",
                                        "tcp://localhost?:1",
                                        "tcp://localhost#",
                                        "tcp://::1",
                                        "tcp://[::1",
                                        "tcp://[]:1",
                                        "tcp://[localhost]",
                                        "tcp://[::1]1",
                                        "tcp://localhost:1:1",
                                        "tcp://[::1%25lo]:1"};
    for (size_t i = 0; i < COUNT_OF(hosts); i++)
        refuses(asked(hosts[i], "", 0), ENGINE_PROBLEM_ADDRESS, hosts[i]);
    refuses(asked("ssh://somewhere", "", 0), ENGINE_PROBLEM_ADDRESS,
            "ssh addresses are not supported");
    char path[200] = "unix://";
    memset(path + 7, '/', 110);
    refuses(asked(path, "", 0), ENGINE_PROBLEM_ADDRESS, "shorter than 108");
}
END_TEST

/* Also addresses that mean this machine only in a notation that others may read differently. */
START_TEST(plain_tcp_stays_on_this_machine)
{
    static const char *const hosts[] = {
        "tcp://10.0.0.1:2375",       "tcp://engine.example",  "http://192.168.1.1:2375",
        "tcp://0.0.0.0:2375",        "tcp://[2001:db8::1]:1", "tcp://[::]:1",
        "tcp://[::ffff:10.0.0.1]:1", "tcp://127.1:2375",      "tcp://2130706433:2375",
        "tcp://0177.0.0.1:2375",     "tcp://0x7f.0.0.1:2375", "tcp://127.0.0.1.example:1",
        "tcp://localhost.example:1", "tcp://127.0.0.256:2375"};
    for (size_t i = 0; i < COUNT_OF(hosts); i++)
        refuses(asked(hosts[i], "", 0), ENGINE_PROBLEM_CERTIFICATES, "unencrypted");
}
END_TEST

static void put_pair(void)
{
    put("cert.pem", "certificate");
    put("key.pem", "key");
}

START_TEST(tls_by_files_of_dockers_directory)
{
    put("ca.pem", "authority");
    ck_assert(resolve(asked("tcp://engine.example", "", 1)));
    ck_assert_str_eq(address.base, "https://engine.example:2376");
    ck_assert_str_eq(address.certificates, directory);
    ck_assert(!address.client_certificate);
    put_pair();
    ck_assert(resolve(asked("https://[2001:db8::1]:7", "", 0)));
    ck_assert_str_eq(address.base, "https://[2001:db8::1]:7");
    ck_assert(address.client_certificate);
    ck_assert(resolve(asked("http://127.0.0.1:7", "", 1)));
    ck_assert_str_eq(address.base, "https://127.0.0.1:7");
    ck_assert(resolve(asked("unix:///run/a.sock", "", 1)));
    ck_assert_str_eq(address.certificates, "");
}
END_TEST

START_TEST(named_certificates_are_taken_instead)
{
    put("ca.pem", "authority");
    struct docker_options docker = asked("tcp://engine.example", "", 1);
    docker.certificates = below("other");
    refuses(docker, ENGINE_PROBLEM_CERTIFICATES, "/other/ca.pem: No such file");
    put("other/ca.pem", "authority");
    docker.certificates = below("other");
    ck_assert(resolve(docker));
    ck_assert_str_eq(address.certificates, below("other"));
}
END_TEST

START_TEST(certificates_that_cannot_be_used)
{
    struct docker_options docker = asked("tcp://engine.example", "", 1);
    refuses(docker, ENGINE_PROBLEM_CERTIFICATES, "ca.pem: No such file");
    put("ca.pem", "authority");
    put("cert.pem", "certificate");
    refuses(docker, ENGINE_PROBLEM_CERTIFICATES, "key.pem: No such file");
    ck_assert_int_eq(unlink(below("cert.pem")), 0);
    put("key.pem", "key");
    refuses(docker, ENGINE_PROBLEM_CERTIFICATES, "cert.pem: No such file");
    put("cert.pem/file", "");
    refuses(docker, ENGINE_PROBLEM_CERTIFICATES, "cert.pem: Invalid argument");
    ck_assert_int_eq(truncate(below("ca.pem"), (1 << 20) + 1), 0);
    refuses(docker, ENGINE_PROBLEM_CERTIFICATES, "ca.pem: File too large");
    ck_assert_int_eq(chmod(below("ca.pem"), 0), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    refuses(docker, ENGINE_PROBLEM_CERTIFICATES, "ca.pem: Permission denied");
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    docker.config_directory = TEXT("");
    refuses(docker, ENGINE_PROBLEM_CERTIFICATES, "none is configured");
}
END_TEST

START_TEST(contexts)
{
    put_context("unix:///run/other.sock", ",\"SkipTLSVerify\":false");
    ck_assert(resolve(asked("", "remote", 0)));
    ck_assert_str_eq(address.socket_path, "/run/other.sock");
    put_context("tcp://engine.example:1", "");
    refuses(asked("", "remote", 0), ENGINE_PROBLEM_CERTIFICATES,
            "docker context remote: plain TCP to engine.example:1");
    put(CONTEXT_TLS "/ca.pem", "authority");
    ck_assert(resolve(asked("", "remote", 0)));
    ck_assert_str_eq(address.base, "https://engine.example:1");
    ck_assert_str_eq(address.certificates, below(CONTEXT_TLS));
    ck_assert(!address.client_certificate);
    put(CONTEXT_TLS "/key.pem", "key");
    refuses(asked("", "remote", 0), ENGINE_PROBLEM_CERTIFICATES, "cert.pem: No such file");
    ck_assert(resolve(asked("unix:///run/host.sock", "remote", 0)));
    ck_assert_str_eq(address.socket_path, "/run/host.sock");
}
END_TEST

START_TEST(context_without_files_takes_those_of_the_description)
{
    put_context("tcp://engine.example:1", "");
    put("ca.pem", "authority");
    ck_assert(resolve(asked("", "remote", 1)));
    ck_assert_str_eq(address.certificates, directory);
}
END_TEST

START_TEST(current_context)
{
    put("config.json", "{\"auths\":{},\"currentContext\":\"remote\"}");
    refuses(asked("", "", 0), ENGINE_PROBLEM_ADDRESS, "no docker context remote");
    put_context("unix:///run/other.sock", "");
    ck_assert(resolve(asked("", "", 0)));
    ck_assert_str_eq(address.socket_path, "/run/other.sock");
    char name[RUN_NAME_LIMIT + 1] = "unchanged";
    struct docker_options docker = asked("", "default", 0);
    ck_assert(engine_context_choose(&docker, name, &fault));
    ck_assert_str_eq(name, "");
    static const char *const none[] = {"{}", "{\"currentContext\":\"\"}",
                                       "{\"currentContext\":\"default\"}"};
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        put("config.json", none[i]);
        docker = asked("", "", 0);
        (void)snprintf(name, sizeof(name), "unchanged");
        ck_assert(engine_context_choose(&docker, name, &fault));
        ck_assert_str_eq(name, "");
    }
    docker.config_directory = TEXT("");
    ck_assert(engine_context_choose(&docker, name, &fault));
    ck_assert_str_eq(name, "");
}
END_TEST

START_TEST(configurations_that_cannot_be_read)
{
    static const char *const texts[] = {"", "[]", "{", "{\"currentContext\":1}"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        put("config.json", texts[i]);
        refuses(asked("", "", 0), ENGINE_PROBLEM_ADDRESS, "config.json");
    }
    ck_assert_int_eq(truncate(below("config.json"), (1 << 20) + 1), 0);
    refuses(asked("", "", 0), ENGINE_PROBLEM_ADDRESS, "config.json");
    ck_assert_int_eq(unlink(below("config.json")), 0);
    ck_assert_int_eq(mkfifo(below("config.json"), 0600), 0);
    refuses(asked("", "", 0), ENGINE_PROBLEM_ADDRESS, "config.json");
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    else
        ck_assert_int_eq(chmod(below("config.json"), 0), 0);
    refuses(asked("", "", 0), ENGINE_PROBLEM_ADDRESS, "config.json: Permission denied");
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(contexts_that_are_refused)
{
    static const char *const names[] = {"../../etc", "a b", "a/b", "\xff"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        refuses(asked("", names[i], 0), ENGINE_PROBLEM_ADDRESS,
                "the name of the docker context is not valid");
    refuses(asked("", "remote", 0), ENGINE_PROBLEM_ADDRESS, "no docker context remote");
    struct docker_options nowhere = asked("", "remote", 0);
    nowhere.config_directory = TEXT("");
    refuses(nowhere, ENGINE_PROBLEM_ADDRESS, "no docker context remote");
    put_context("ssh://user@engine.example", "");
    refuses(asked("", "remote", 0), ENGINE_PROBLEM_ADDRESS,
            "docker context remote: ssh addresses are");
    put_context("tcp://engine.example", ",\"SkipTLSVerify\":true");
    refuses(asked("", "remote", 0), ENGINE_PROBLEM_CERTIFICATES, "SkipTLSVerify");
    put_context("tcp://engine.example", ",\"SkipTLSVerify\":\"no\"");
    refuses(asked("", "remote", 0), ENGINE_PROBLEM_CERTIFICATES, "SkipTLSVerify");
    put_context("", "");
    refuses(asked("", "remote", 0), ENGINE_PROBLEM_ADDRESS, "names no host");
    put(META, "{\"Endpoints\":{\"kubernetes\":{}}}");
    refuses(asked("", "remote", 0), ENGINE_PROBLEM_ADDRESS, "names no host");
    put(META, "nonsense");
    refuses(asked("", "remote", 0), ENGINE_PROBLEM_ADDRESS, "JSON");
}
END_TEST

static int listen_at(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    (void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    return fd;
}

static void diagnoses(enum engine_problem problem, const char *words)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    (void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", address.socket_path);
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_lt(connect(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
    engine_address_explain(&address, errno, &fault);
    ck_assert_msg(fault.problem == problem, "problem %d: %s", fault.problem, fault.message);
    ck_assert_msg(strstr(fault.message, words) != NULL, "no \"%s\": %s", words, fault.message);
}

START_TEST(first_socket_decides)
{
    const char *const paths[] = {below("first"), below("second")};
    ck_assert(!engine_address_find(paths, COUNT_OF(paths), &address, &fault));
    ck_assert_int_eq(fault.problem, ENGINE_PROBLEM_NOT_INSTALLED);
    ck_assert_ptr_nonnull(strstr(fault.message, "docker is not installed or its socket is not "
                                                "there: cannot connect to the Docker daemon at "));
    close_fd(listen_at(paths[1]));
    ck_assert(engine_address_find(paths, COUNT_OF(paths), &address, &fault));
    ck_assert_str_eq(address.socket_path, paths[1]);
    close_fd(listen_at(paths[0])); /* nothing listens any more, which is reported */
    ck_assert(engine_address_find(paths, COUNT_OF(paths), &address, &fault));
    ck_assert_str_eq(address.socket_path, paths[0]);
    diagnoses(ENGINE_PROBLEM_NOT_RUNNING,
              "docker is not running: cannot connect to the Docker daemon at unix:///");
}
END_TEST

START_TEST(sockets_that_refuse)
{
    char *path = below("socket");
    (void)snprintf(address.socket_path, sizeof(address.socket_path), "%s", path);
    diagnoses(ENGINE_PROBLEM_NOT_INSTALLED,
              "docker is not installed or its socket is not there: cannot connect");
    ck_assert_int_eq(mkdir(path, 0700), 0); /* as engines make of a mount's missing source */
    diagnoses(ENGINE_PROBLEM_NOT_INSTALLED, ": not a socket");
    ck_assert_int_eq(rmdir(path), 0);
    int fd = listen_at(path);
    ck_assert_int_eq(chmod(path, 0), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    diagnoses(ENGINE_PROBLEM_NO_PERMISSION,
              "permission denied while trying to connect to the Docker daemon socket at unix:///");
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    close_fd(fd);
}
END_TEST

/* The code and the remedy that the plugin gets for each problem. */
static const struct {
    enum engine_problem problem;
    enum error_code code;
    const char *remedy; /* in it */
} reports[] = {
    {ENGINE_PROBLEM_ADDRESS, ERROR_BACKEND_UNAVAILABLE, "docker.host"},
    {ENGINE_PROBLEM_NOT_INSTALLED, ERROR_BACKEND_UNAVAILABLE, "install Docker"},
    {ENGINE_PROBLEM_NOT_RUNNING, ERROR_BACKEND_UNAVAILABLE, "systemctl start docker"},
    {ENGINE_PROBLEM_NO_PERMISSION, ERROR_BACKEND_UNAVAILABLE, "group docker"},
    {ENGINE_PROBLEM_API_TOO_OLD, ERROR_BACKEND_UNAVAILABLE, "20.10"},
    {ENGINE_PROBLEM_NO_SECCOMP, ERROR_SANDBOX_UNAVAILABLE, "CONFIG_SECCOMP_FILTER"},
    {ENGINE_PROBLEM_UNFIT, ERROR_SANDBOX_UNAVAILABLE, "Docker Engine"},
    {ENGINE_PROBLEM_NO_LIMITS, ERROR_SANDBOX_UNAVAILABLE, "controllers"},
    {ENGINE_PROBLEM_CERTIFICATES, ERROR_BACKEND_UNAVAILABLE, "DOCKER_CERT_PATH"},
    {ENGINE_PROBLEM_NO_RUNTIME, ERROR_BACKEND_UNAVAILABLE, "docker.runtime"},
    {ENGINE_PROBLEM_NO_NETWORK, ERROR_BACKEND_UNAVAILABLE, "bridge"},
    {ENGINE_PROBLEM_NO_IMAGE, ERROR_BACKEND_UNAVAILABLE, "docker.pull"},
    {ENGINE_PROBLEM_PULL_REFUSED, ERROR_BACKEND_UNAVAILABLE, "registry"},
    {ENGINE_PROBLEM_DIGEST, ERROR_BACKEND_UNAVAILABLE, "digest"},
    {ENGINE_PROBLEM_IMAGE_UNUSED, ERROR_BACKEND_UNAVAILABLE, "docker.images"},
    {ENGINE_PROBLEM_REFUSED, ERROR_BACKEND_FAILED, "engine's own log"},
    {ENGINE_PROBLEM_SILENT, ERROR_BACKEND_FAILED, "engine's own log"},
    {ENGINE_PROBLEM_ALTERED, ERROR_SANDBOX_UNAVAILABLE, "a proxy"},
    {ENGINE_PROBLEM_NO_GUEST, ERROR_SANDBOX_UNAVAILABLE, "code-execute-guest-ARCHITECTURE"},
    {ENGINE_PROBLEM_NO_COMMIT, ERROR_BACKEND_UNAVAILABLE, "commit"},
    {ENGINE_PROBLEM_IMAGE_GONE, ERROR_BACKEND_UNAVAILABLE, "removes images"},
    {ENGINE_PROBLEM_PACKAGES, ERROR_ENVIRONMENT_CHANGED, "env build"},
    {ENGINE_PROBLEM_NONE, ERROR_BACKEND_UNAVAILABLE, "toolhost doctor"},
};

START_TEST(a_problem_is_reported_with_its_remedy)
{
    struct run_event event = {.type = RUN_EVENT_ENDED};
    const struct engine_fault reported = {.problem = reports[_i].problem};
    enum run_failure failure = engine_fault_report(&reported, &event);
    ck_assert_int_eq(failure == RUN_FAILURE_IMAGE, reported.problem == ENGINE_PROBLEM_NO_IMAGE);
    ck_assert_uint_eq(event.problem_code, reports[_i].code);
    ck_assert_msg(strstr(event.remedy, reports[_i].remedy), "%s", event.remedy);
    ck_assert_uint_lt(strlen(event.remedy), sizeof(event.remedy) - 1);
    ck_assert_uint_eq(COUNT_OF(reports), ENGINE_PROBLEM_COUNT);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("docker address");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, addresses);
    tcase_add_test(cases, an_invalid_address_is_refused);
    tcase_add_test(cases, plain_tcp_stays_on_this_machine);
    tcase_add_test(cases, tls_by_files_of_dockers_directory);
    tcase_add_test(cases, named_certificates_are_taken_instead);
    tcase_add_test(cases, certificates_that_cannot_be_used);
    tcase_add_test(cases, contexts);
    tcase_add_test(cases, context_without_files_takes_those_of_the_description);
    tcase_add_test(cases, current_context);
    tcase_add_test(cases, configurations_that_cannot_be_read);
    tcase_add_test(cases, contexts_that_are_refused);
    tcase_add_test(cases, first_socket_decides);
    tcase_add_test(cases, sockets_that_refuse);
    tcase_add_loop_test(cases, a_problem_is_reported_with_its_remedy, 0, COUNT_OF(reports));
    return run_suite("docker address", &cases, 1);
}
