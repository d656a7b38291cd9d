// nghttp2 1.52 as HTTP/2 session and HPACK codec: memory in, memory out. Belfry brings its own transport (a SwiftNIO
// channel with TLS), so of this library it uses `nghttp2_session_mem_recv`, `nghttp2_session_mem_send`, the submit
// functions and the callbacks. Nothing here needs an inline function: everything that is used is a plain function, and
// unions (`nghttp2_frame`, `nghttp2_data_source`) are imported with a property for each member.
#pragma once

#include <nghttp2/nghttp2.h>
