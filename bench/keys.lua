-- Send requests with the keys of a file in turn; connections may wait after a response.
-- Arguments: the average pause in milliseconds, and a file with one key per line. To
-- send chat requests instead of asking for the models: a file with the body, then
-- "Name: value" for each header.

local requests, current, pause = {}, 0, 0

function init(arguments)
  pause = tonumber(arguments[1])
  local body = arguments[3] and assert(io.open(arguments[3], "rb")):read("*a")
  local headers = {}
  for index = 4, #arguments do
    local name, value = arguments[index]:match("^([^:]+): (.*)$")
    headers[name] = value
  end
  for key in io.lines(arguments[2]) do
    headers.Authorization = "Bearer " .. key
    local method = body and "POST" or "GET"
    requests[#requests + 1] = wrk.format(method, nil, headers, body)
  end
  if pause == 0 then
    delay = nil
  end
end

-- Random, up to twice the average, so that requests do not arrive in step.
function delay()
  return math.random(0, 2 * pause)
end

function request()
  current = current % #requests + 1
  return requests[current]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests": %d, "p50": %d, "p99": %d, "refused": %d, "broken": %d}\n',
    summary.requests, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout
  ))
end
