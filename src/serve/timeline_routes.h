// The timeline's questions under `/api/v1/timeline`.
#pragma once

#include "serve/timeline_answers.h"

namespace httplib {  // NOLINT(readability-identifier-naming): the name that the library has.
class Server;
}

namespace headroom {

/// @param answers  outlive the server
void AddTimelineRoutes(TimelineAnswers& answers, httplib::Server& server);

}  // namespace headroom
