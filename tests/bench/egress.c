/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What requests through the broker of endpoints cost, beside the same client without it.
 *   egress upstream KEY CERTIFICATE       serves a short answer by TLS; prints its port
 *   egress latency CA COUNT URL...        one request after the other to the URLs in turn, over
 *                                         connections that are kept; prints a line of milliseconds
 *                                         for each round
 *   egress rate CA COUNT CALLERS URL      prints the requests a second of that many at one time
 */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP      50
#define CALLERS_MOST 64
#define URLS_MOST    4

static const char text[] = "{\"answer\": 42}\n";

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1000 + (double)now.tv_nsec / 1e6;
}

static char *read_file(const char *path)
{
    static char files[2][65536];
    static size_t used;
    char *bytes = files[used++ % 2];
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(bytes, 1, sizeof(files[0]) - 1, file) : 0;
    bytes[length] = '\0';
    if (file)
        (void)fclose(file);
    return bytes;
}

static enum MHD_Result serve(void *user, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *bytes,
                             size_t *length, void **state)
{
    static int seen;
    (void)url, (void)method, (void)version, (void)bytes;
    if (!*state) {
        *state = &seen;
        return MHD_YES;
    }
    if (*length) {
        *length = 0;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, user);
}

static int upstream(const char *key, const char *certificate)
{
    struct sockaddr_in place = {.sin_family = AF_INET,
                                .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *)(size_t)text, MHD_RESPMEM_PERSISTENT);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TLS, 0, NULL, NULL, serve, response,
        MHD_OPTION_SOCK_ADDR, &place, MHD_OPTION_HTTPS_MEM_KEY, read_file(key),
        MHD_OPTION_HTTPS_MEM_CERT, read_file(certificate), MHD_OPTION_END);
    if (!daemon)
        return 1;
    (void)printf("%d\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    (void)fflush(stdout);
    (void)!read(STDIN_FILENO, &place, 1); /* until the bench has ended */
    MHD_stop_daemon(daemon);
    return 0;
}

static size_t ignore(char *bytes, size_t size, size_t count, void *user)
{
    (void)bytes, (void)user;
    return size * count;
}

static CURL *prepared(const char *url, const char *ca)
{
    CURL *easy = curl_easy_init();
    (void)curl_easy_setopt(easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(easy, CURLOPT_CAINFO, ca);
    (void)curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
    (void)curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
    return easy;
}

static double ask(CURL *easy)
{
    double begin = now_ms();
    CURLcode code = curl_easy_perform(easy);
    if (code != CURLE_OK) {
        (void)fprintf(stderr, "%s\n", curl_easy_strerror(code));
        exit(1);
    }
    return now_ms() - begin;
}

static int latency(const char *ca, int count, char *const *urls)
{
    CURL *handles[URLS_MOST];
    size_t url_count = 0;
    for (; url_count < URLS_MOST && urls[url_count]; url_count++)
        handles[url_count] = prepared(urls[url_count], ca);
    for (int i = -WARM_UP; i < count; i++)
        for (size_t url = 0; url < url_count; url++) {
            double taken = ask(handles[url]);
            if (i >= 0)
                (void)printf("%.4f%c", taken, url + 1 < url_count ? ' ' : '\n');
        }
    for (size_t url = 0; url < url_count; url++)
        curl_easy_cleanup(handles[url]);
    return 0;
}

/* Ends one and begins the next, until so many have ended. */
static int run_all(CURLM *multi, int left, int under_way)
{
    while (under_way > 0) {
        int running, queued;
        CURLMsg *message;
        (void)curl_multi_perform(multi, &running);
        while ((message = curl_multi_info_read(multi, &queued)) != NULL) {
            CURL *easy = message->easy_handle;
            if (message->data.result != CURLE_OK)
                return -1;
            (void)curl_multi_remove_handle(multi, easy);
            under_way--;
            if (left-- > 0 && ++under_way > 0)
                (void)curl_multi_add_handle(multi, easy);
        }
        if (under_way > 0)
            (void)curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    return 0;
}

static int rate(const char *ca, int count, int callers, const char *url)
{
    CURLM *multi = curl_multi_init();
    CURL *handles[CALLERS_MOST];
    if (callers > CALLERS_MOST)
        return 1;
    for (int i = 0; i < callers; i++) {
        handles[i] = prepared(url, ca);
        (void)curl_multi_add_handle(multi, handles[i]);
    }
    if (run_all(multi, 4 * callers, callers) < 0)
        return 1;
    for (int i = 0; i < callers; i++)
        (void)curl_multi_add_handle(multi, handles[i]);
    double begin = now_ms();
    if (run_all(multi, count - callers, callers) < 0)
        return 1;
    (void)printf("%.1f\n", count / (now_ms() - begin) * 1000);
    for (int i = 0; i < callers; i++)
        curl_easy_cleanup(handles[i]);
    (void)curl_multi_cleanup(multi);
    return 0;
}

int main(int count, char **arguments)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return 1;
    if (count == 4 && strcmp(arguments[1], "upstream") == 0)
        return upstream(arguments[2], arguments[3]);
    if (count > 4 && strcmp(arguments[1], "latency") == 0)
        return latency(arguments[2], atoi(arguments[3]), &arguments[4]);
    if (count == 6 && strcmp(arguments[1], "rate") == 0)
        return rate(arguments[2], atoi(arguments[3]), atoi(arguments[4]), arguments[5]);
    return 2;
}
