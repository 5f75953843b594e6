-- wrk script: sends the requests of a file in turn (a line each: path, tab, token or nothing), starting at a random one, and
-- prints what was measured as one line of JSON. Times are microseconds.
local requests, position = {}, 0

function init(arguments)
  for line in io.lines(arguments[1]) do
    local path, token = line:match("^(%S+)\t(%S*)$")
    local headers = {}
    if token ~= "" then headers["Authorization"] = "Bearer " .. token end
    requests[#requests + 1] = wrk.format("GET", path, headers)
  end
  math.randomseed(os.time())
  position = math.random(#requests)
end

function request()
  position = position % #requests + 1
  return requests[position]
end

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"duration":%d,"p50":%d,"p99":%d,"bytes":%d,"failed":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), summary.bytes,
    errors.connect + errors.read + errors.write + errors.timeout + errors.status))
end
