-- Requests with pauses between them: each connection waits after every response.
-- Arguments: the average pause in milliseconds, then a file with one key per line.

local requests, current, pause = {}, 0, 0

function init(arguments)
  pause = tonumber(arguments[1])
  for key in io.lines(arguments[2]) do
    local headers = { Authorization = "Bearer " .. key }
    requests[#requests + 1] = wrk.format("GET", nil, headers)
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
  io.write(string.format(
    '\nRESULT {"requests": %d, "p50": %d, "p99": %d, "refused": %d}\n',
    summary.requests, latency:percentile(50), latency:percentile(99),
    summary.errors.status
  ))
end
