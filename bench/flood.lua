-- Requests with pauses between them: each connection waits after every answer.
-- Arguments: the pause in milliseconds, then a file with one key in each line.

local requests, turn, pause = {}, 0, 0

function init(arguments)
  pause = tonumber(arguments[1])
  for key in io.lines(arguments[2]) do
    local headers = { Authorization = "Bearer " .. key }
    requests[#requests + 1] = wrk.format("GET", nil, headers)
  end
end

-- A pause of any length up to twice as long: requests must not come in step.
function delay()
  return math.random(0, 2 * pause)
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  io.write(string.format(
    '\nRESULT {"requests": %d, "p50": %d, "p99": %d, "refused": %d}\n',
    summary.requests, latency:percentile(50), latency:percentile(99),
    summary.errors.status
  ))
end
