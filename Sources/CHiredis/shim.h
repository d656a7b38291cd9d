// hiredis 0.14 as a codec only. Belfry brings its own transport (a SwiftNIO channel), so of this library it uses the
// incremental reply parser (`redisReader…`, read.h) and, in tests, the command formatter as an oracle for its own
// encoder. Nothing here needs an inline function: the parser's one macro (`redisReaderSetPrivdata`) only assigns a
// field, which Swift does itself, without the macro's cast of a pointer to an int.
#pragma once

// redisReader and its callbacks; hiredis.h builds on it, too.
#include <hiredis/read.h>
// redisFormatCommandArgv and redisFreeCommand. Its blocking connection API must not be used on an event loop.
#include <hiredis/hiredis.h>
