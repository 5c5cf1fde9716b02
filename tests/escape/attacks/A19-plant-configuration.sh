# SPDX-License-Identifier: Apache-2.0
# attack: A19
# title: leave a file that the host would run later
# backends: docker, process
# expect: completed exit
# layers: mount namespace, no binds
# evidence: file
# control docker: bind
# control process: bind landlock
mkdir -p "$CANARY_DIR/.git/hooks" "$CANARY_DIR/.config"
for file in .bashrc .profile .git/hooks/pre-commit .config/settings.json; do
    echo 'echo planted' >"$CANARY_DIR/$file"
done
echo "$TRIED"
