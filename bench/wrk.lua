-- The requests that wrk sends, and its report as JSON.
-- Argument: a file with requests, each followed by a NUL byte. With as many threads as
-- requests, each thread repeats its own; otherwise each thread sends them all in turn.

local threads = {}

function setup(thread)
  thread:set("thread_number", #threads + 1)
  table.insert(threads, thread)
  for _, each in ipairs(threads) do
    each:set("thread_count", #threads)
  end
end

function init(arguments)
  local requests, current = {}, 0
  local file = assert(io.open(arguments[1], "rb"))
  for each in file:read("*a"):gmatch("(%Z+)%z") do
    table.insert(requests, each)
  end
  if #requests == thread_count then
    -- Without a function `request`, wrk calls this one once and repeats the result.
    wrk.format = function() return requests[thread_number] end
    return
  end
  request = function()
    current = current % #requests + 1
    return requests[current]
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
