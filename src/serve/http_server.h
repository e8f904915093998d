// The HTTP server of `headroom ui`, on loopback: serves the page and answers its requests.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/named_text.h"
#include "base/status.h"
#include "serve/live_session.h"
#include "serve/run/repeated_run.h"

namespace headroom {

/// Answers requests under `/api/v1/`: `state`, `run`, its start and stop, and Questions(). Other
/// paths are files of the page; `/` is `index.html`. A request requires the token of the printed
/// link, or the cookie that the answer to that link sets (serve/access.h); otherwise it gets 403
/// with the reason. Runs on its own threads.
class HttpServer {
 public:
  /// Fails (kUsage) if the port is in use.
  ///
  /// @param source   provides the session that answers; must outlive the server
  /// @param run      program that the page may record again; must outlive the server; null: none
  /// @param page     files of the page; must outlive the server
  /// @param port     port to listen on; 0: any free port
  static Result<std::unique_ptr<HttpServer>> Start(LiveSession& source, RepeatedRun* run,
                                                   std::span<const NamedText> page, int port);

  /// Stops, and waits for running requests.
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
  /// Returns the address of the page, including the token.
  virtual std::string Link() const = 0;
};

}  // namespace headroom
