-- The request that wrk sends, and its report as JSON.
-- Arguments: the number of requests to send at once on a connection, the method, a file
-- with the body, then "Name: value" for each header. If a name is repeated, each thread
-- takes one of its values, in turn.

local threads = 0

function setup(thread)
  thread:set("thread_number", threads)
  threads = threads + 1
end

function init(arguments)
  local values = {}
  local batch = tonumber(arguments[1])
  wrk.method = arguments[2]
  wrk.body = assert(io.open(arguments[3], "rb")):read("*a")
  for index = 4, #arguments do
    local name, value = arguments[index]:match("^([^:]+): (.*)$")
    values[name] = values[name] or {}
    table.insert(values[name], value)
  end
  for name, all in pairs(values) do
    wrk.headers[name] = all[thread_number % #all + 1]
  end
  if batch > 1 then
    local requests = wrk.format():rep(batch)
    request = function() return requests end
  end
end

-- wrk's own report stops at the 99th percentile and rounds its figures.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests": %d, "microseconds": %d, '
      .. '"p50": %d, "p99": %d, "p999": %d, '
      .. '"refused": %d, "broken": %d}\n',
    summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout
  ))
end
