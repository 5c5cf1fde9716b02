/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint_address: each spelling that could stand for another host than an operator reads is
 * refused, for the reason that is its own, and what is taken is written in one way.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/endpoint_address.h"
#include "tap_suite.h"

/* url NULL: refused, in words that have this part. */
static const struct {
    const char *text, *url, *words;
} urls[] = {
    {"https://api.github.com", "https://api.github.com", NULL},
    {"https://api.github.com/", "https://api.github.com", NULL},
    {"https://api.github.com:443", "https://api.github.com", NULL},
    {"https://api.github.com:8443/v3/", "https://api.github.com:8443/v3", NULL},
    {"https://a.b/c/d.e/~f_g-h", "https://a.b/c/d.e/~f_g-h", NULL},
    {"http://intranet:80/a", "http://intranet/a", NULL},
    {"http://intranet:443", "http://intranet:443", NULL},
    {"https://xn--bcher-kva.example", "https://xn--bcher-kva.example", NULL},
    {"https://1e100.net", "https://1e100.net", NULL},
    {"https://0x.example", "https://0x.example", NULL},
    {"https://10.0.0.1:1/x", "https://10.0.0.1:1/x", NULL},
    {"https://127.0.0.1:65535", "https://127.0.0.1:65535", NULL},
    {"https://[::1]", "https://[::1]", NULL},
    {"https://[fd00::1:2]:8443/x", "https://[fd00::1:2]:8443/x", NULL},
    {"https://a.b/c...d/..e", "https://a.b/c...d/..e", NULL},

    {"", NULL, "must begin with"},
    {"ftp://a.b", NULL, "must begin with"},
    {"HTTPS://a.b", NULL, "must begin with"},
    {"https:/a.b", NULL, "must begin with"},
    {"//a.b", NULL, "must begin with"},
    {" https://a.b", NULL, "must begin with"},
    /* Case, and bytes that parsers take for others. */
    {"https://API.github.com", NULL, "byte other than"},
    {"https://", NULL, "empty part"},
    {"https:///a", NULL, "empty part"},
    {"https://:443", NULL, "empty part"},
    {"https://b\xc3\xbc"
     "cher.example",
     NULL, "byte that it must not have"},
    {"https://\xc3\xbc.example", NULL, "xn--"},
    {"https://a\xe3\x80\x82"
     "b",
     NULL, "byte that it must not have"},
    {"https://a.b\t", NULL, "byte that it must not have"},
    {"https://a.b\r\nhost: c", NULL, "byte that it must not have"},
    {"https://a_b.c", NULL, "byte that it must not have"},
    {"https://a.b\\c", NULL, "byte that it must not have"},
    {"https://a%00.b", NULL, "escape"},
    {"https://a%2eb", NULL, "escape"},
    /* Dots. */
    {"https://a.b.", NULL, "empty part"},
    {"https://a..b", NULL, "empty part"},
    {"https://.a.b", NULL, "empty part"},
    {"https://-a.b", NULL, "begins or ends"},
    {"https://a-.b", NULL, "begins or ends"},
    /* Addresses in every dress. */
    {"https://127.1", NULL, "four decimal numbers"},
    {"https://2130706433", NULL, "four decimal numbers"},
    {"https://0177.0.0.1", NULL, "four decimal numbers"},
    {"https://127.0.0.01", NULL, "four decimal numbers"},
    {"https://0x7f000001", NULL, "four decimal numbers"},
    {"https://0x7f.0.0.1", NULL, "four decimal numbers"},
    {"https://127.0.0.0x1", NULL, "four decimal numbers"},
    {"https://a.0x7f", NULL, "four decimal numbers"},
    {"https://a.0x", NULL, "four decimal numbers"},
    {"https://a.1", NULL, "four decimal numbers"},
    {"https://1.2.3.4.5", NULL, "four decimal numbers"},
    {"https://1.2.3.256", NULL, "four decimal numbers"},
    {"https://1.2.3.4.", NULL, "four decimal numbers"},
    {"https://[::1", NULL, "without its"},
    {"https://::1", NULL, "empty part"},
    {"https://[0:0:0:0:0:0:0:1]", NULL, "canonical"},
    {"https://[FD00::1]", NULL, "canonical"},
    {"https://[fd00::0001]", NULL, "canonical"},
    {"https://[fe80::1%25eth0]", NULL, "canonical"},
    {"https://[fe80::1%eth0]", NULL, "canonical"},
    {"https://[v1.a]", NULL, "canonical"},
    {"https://[]", NULL, "canonical"},
    {"https://[1.2.3.4]", NULL, "canonical"},
    {"https://[::ffff:127.0.0.1]", NULL, "no endpoint may have"},
    {"https://[::ffff:7f00:1]", NULL, "canonical"},
    {"https://[::127.0.0.1]", NULL, "no endpoint may have"},
    {"https://[::]", NULL, "no endpoint may have"},
    {"https://[64:ff9b::a9fe:a9fe]", NULL, "no endpoint may have"},
    {"https://[2002:a9fe:a9fe::]", NULL, "no endpoint may have"},
    {"https://[ff02::1]", NULL, "no endpoint may have"},
    {"https://[fd00:ec2::254]", NULL, "no endpoint may have"},
    {"https://169.254.169.254", NULL, "no endpoint may have"},
    {"https://100.100.100.200", NULL, "no endpoint may have"},
    {"https://0.0.0.0", NULL, "no endpoint may have"},
    {"https://224.0.0.1", NULL, "no endpoint may have"},
    {"https://255.255.255.255", NULL, "no endpoint may have"},
    /* Users, ports, queries, fragments. */
    {"https://a.b@c.d", NULL, "a user"},
    {"https://a:b@c.d", NULL, "a user"},
    {"https://@a.b", NULL, "a user"},
    {"https://a.b/c@d", NULL, "a user"},
    {"https://[::1]@a.b", NULL, "a user"},
    {"https://a.b:", NULL, "a port"},
    {"https://a.b:0", NULL, "a port"},
    {"https://a.b:01", NULL, "a port"},
    {"https://a.b:65536", NULL, "a port"},
    {"https://a.b:4294967739", NULL, "a port"},
    {"https://a.b:+443", NULL, "a port"},
    {"https://a.b:-1", NULL, "a port"},
    {"https://a.b:443:443", NULL, "byte that it must not have"},
    {"https://a.b:443a", NULL, "byte that it must not have"},
    {"https://a.b?c", NULL, "a query"},
    {"https://a.b/c?d=e", NULL, "a query"},
    {"https://a.b#c", NULL, "a fragment"},
    {"https://a.b/c#", NULL, "a fragment"},
    /* Paths. */
    {"https://a.b//", NULL, "empty part"},
    {"https://a.b/c//d", NULL, "empty part"},
    {"https://a.b/.", NULL, "\"..\" in its path"},
    {"https://a.b/c/../d", NULL, "\"..\" in its path"},
    {"https://a.b/c%2f", NULL, "escape"},
    {"https://a.b/c;d", NULL, "byte that it must not have"},
    {"https://a.b/c d", NULL, "byte that it must not have"},
    {"https://a.b/*", NULL, "byte that it must not have"},
    {"https://a.b/\x7f", NULL, "byte that it must not have"},
};

static const struct {
    const char *text, *url, *words;
} tunnels[] = {
    {"files.pythonhosted.org:443", "https://files.pythonhosted.org", NULL},
    {"db.example:8443", "https://db.example:8443", NULL},
    {"db:443", "https://db", NULL},
    {"a.b", NULL, "must be HOST:PORT"},
    {"", NULL, "empty part"},
    {":443", NULL, "empty part"},
    {"https://a.b:443", NULL, "a port"},
    {"A.b:443", NULL, "byte other than"},
    {"a.b.:443", NULL, "empty part"},
    {"a.b:443/", NULL, "byte that it must not have"},
    {"a.b:443 ", NULL, "byte that it must not have"},
    {"a@b.c:443", NULL, "must be HOST:PORT"},
    {"a.b:0", NULL, "a port"},
    {"a.b:65536", NULL, "a port"},
    {"1.2.3.4:443", NULL, "names no addresses"},
    {"2130706433:443", NULL, "names no addresses"},
    {"0x7f000001:443", NULL, "four decimal numbers"},
    {"[::1]:443", NULL, "names no addresses"},
};

static void hold(const char *text, const char *why_not, const struct endpoint_address *address,
                 const char *url, const char *words)
{
    if (url) {
        ck_assert_msg(!why_not, "%s: %s", text, why_not);
        ck_assert_str_eq(address->url, url);
    } else {
        ck_assert_msg(why_not && strstr(why_not, words), "%s: %s", text,
                      why_not ? why_not : "it is taken");
        ck_assert_str_eq(address->url, "untouched");
    }
}

START_TEST(url)
{
    struct endpoint_address address = {.url = "untouched"};
    const char *why_not = endpoint_url_read(urls[_i].text, &address);
    hold(urls[_i].text, why_not, &address, urls[_i].url, urls[_i].words);
}
END_TEST

START_TEST(tunnel)
{
    struct endpoint_address address = {.url = "untouched"};
    const char *why_not = endpoint_tunnel_read(tunnels[_i].text, &address);
    hold(tunnels[_i].text, why_not, &address, tunnels[_i].url, tunnels[_i].words);
}
END_TEST

/* The name of so many labels "a...", each of that length, in an https URL. */
static void name_of(char *ret, size_t size, size_t labels, size_t length)
{
    size_t used = (size_t)snprintf(ret, size, "https://");
    for (size_t i = 0; i < labels; i++)
        used += (size_t)snprintf(
            ret + used, size - used, "%s%.*s", i > 0 ? "." : "", (int)length,
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

START_TEST(lengths)
{
    struct endpoint_address address;
    char text[2048];
    name_of(text, sizeof(text), 2, 63);
    ck_assert_ptr_null(endpoint_url_read(text, &address));
    name_of(text, sizeof(text), 2, 64);
    ck_assert_ptr_nonnull(strstr(endpoint_url_read(text, &address), "63"));
    name_of(text, sizeof(text), 127, 1); /* 253 bytes */
    ck_assert_ptr_null(endpoint_url_read(text, &address));
    name_of(text, sizeof(text), 128, 1);
    ck_assert_ptr_nonnull(strstr(endpoint_url_read(text, &address), "253"));
    (void)snprintf(text, sizeof(text), "https://a.b/%01012d", 0);
    ck_assert_uint_eq(strlen(text), ENDPOINT_URL_LIMIT);
    ck_assert_ptr_null(endpoint_url_read(text, &address));
    (void)strcat(text, "0");
    ck_assert_ptr_nonnull(strstr(endpoint_url_read(text, &address), "1024"));
    ck_assert_ptr_nonnull(strstr(endpoint_tunnel_read(text, &address), "1024"));
}
END_TEST

START_TEST(what_kind_it_is)
{
    static const struct {
        const char *text;
        bool is_plain, is_local_only;
    } kinds[] = {
        {"https://a.b", false, false},     {"http://a.b", true, false},
        {"https://intranet", false, true}, {"https://10.0.0.1", false, true},
        {"http://[::1]:80", true, true},
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct endpoint_address address;
        ck_assert_ptr_null(endpoint_url_read(kinds[i].text, &address));
        ck_assert_int_eq(address.is_plain, kinds[i].is_plain);
        ck_assert_int_eq(address.is_local_only, kinds[i].is_local_only);
    }
}
END_TEST

/* Whatever is taken is taken again as it was written, and comes out the same. */
START_TEST(one_spelling)
{
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct endpoint_address once, again;
        if (!urls[i].url)
            continue;
        ck_assert_ptr_null(endpoint_url_read(urls[i].text, &once));
        ck_assert_ptr_null(endpoint_url_read(once.url, &again));
        ck_assert_str_eq(once.url, again.url);
    }
}
END_TEST

int main(void)
{
    TCase *parts[] = {tcase_create("urls"), tcase_create("tunnels"), tcase_create("both")};
    tcase_add_loop_test(parts[0], url, 0, (int)COUNT_OF(urls));
    tcase_add_loop_test(parts[1], tunnel, 0, (int)COUNT_OF(tunnels));
    tcase_add_test(parts[2], lengths);
    tcase_add_test(parts[2], what_kind_it_is);
    tcase_add_test(parts[2], one_spelling);
    return run_suite("endpoint_address", parts, COUNT_OF(parts));
}
