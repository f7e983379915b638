# program: curl
# environment: system
# package: curl
# Prints whatever the server answers. --fail-with-body only sets the exit code.
base_url=$1 api_key=$2 model=$3 variant=$4

if [ "$variant" = settings ]; then
  set -- -H 'Content-Type: application/json'
else
  set --
fi
curl --silent --show-error --fail-with-body "$base_url/chat/completions" \
  -H "Authorization: Bearer $api_key" "$@" \
  -d "{\"model\": \"$model\",
       \"messages\": [{\"role\": \"user\", \"content\": \"Ready to copy?\"}]}"
