// HTTP server of `headroom monitor --prometheus`: /metrics on loopback.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace headroom::cli {

/// Serves the most recently published text from its own threads. Answers only requests for a host
/// name of this machine's loopback. A web page that was redirected here under another name (DNS
/// rebinding) gets 403.
class MetricsServer {
 public:
  /// Listens on 127.0.0.1. `port` 0 means any free port. Fails with kUsage if the port is taken.
  static Result<std::unique_ptr<MetricsServer>> Start(int port);

  virtual ~MetricsServer() = default;
  virtual int port() const = 0;
  virtual void Publish(std::string text) = 0;
};

/// Returns true if the Host header of a request names this server.
bool IsLoopbackHost(const std::string& host, int port);

}  // namespace headroom::cli
