/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the file it is told with the rights of its own owner, where it is started with the
 * set-user-id bit. */
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char text[64];
    int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    ssize_t length = read(fd, text, sizeof(text));
    return length > 0 && write(STDOUT_FILENO, text, (size_t)length) == length ? 0 : 1;
}
