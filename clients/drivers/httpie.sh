# program: HTTPie
# environment: system
# package: http
# Prints the answer as it comes. --check-status only sets the exit code, and HTTPie would
# read the body from standard input if that is not a terminal.
base_url=$1 api_key=$2 model=$3

http --ignore-stdin --check-status POST "$base_url/chat/completions" \
  "Authorization: Bearer $api_key" \
  model="$model" \
  messages:='[{"role": "user", "content": "Ready to copy?"}]'
