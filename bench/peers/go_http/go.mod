module readback/bench/go_http

go 1.27
