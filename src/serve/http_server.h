// The HTTP end of `headroom ui`: a page and its questions, on loopback.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/named_text.h"
#include "base/status.h"
#include "serve/live_session.h"
#include "serve/repeated_run.h"

namespace headroom {

/// Answers, under `/api/v1/`: `state`, `run` and what begins and stops it, and Questions(); else
/// files of the page by their names, `index.html` for `/`. Who asks must have the link that
/// was printed, or the cookie that its answer set (serve/access.h); all else gets 403 and why. From
/// threads of its own.
class HttpServer {
 public:
  /// @param source   of the session that answers; outlives the server
  /// @param run      what the page may record again; outlives the server; null: nothing
  /// @param page     files of the page; outlive the server
  /// @param port     0: any that is free
  /// Fails (kUsage) where the port is taken.
  static Result<std::unique_ptr<HttpServer>> Start(LiveSession& source, RepeatedRun* run,
                                                   std::span<const NamedText> page, int port);

  /// Stops, and waits for what is being answered.
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
  /// With the token.
  virtual std::string Link() const = 0;
};

}  // namespace headroom
