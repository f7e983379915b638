#!/bin/sh
# curl, which declares a form for -d unless told otherwise.
# program: curl
# environment: system
# package: curl
base_url=$1 api_key=$2 model=$3 variant=$4
json='Content-Type: application/json'
[ "$variant" = settings ] || json='Accept: */*'
exec curl --silent --show-error --fail-with-body "$base_url/chat/completions" \
    -H "Authorization: Bearer $api_key" -H "$json" \
    -d "{\"model\": \"$model\",
         \"messages\": [{\"role\": \"user\", \"content\": \"Ready to copy?\"}]}"
