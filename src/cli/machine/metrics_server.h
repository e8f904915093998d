// The HTTP end of `headroom monitor --prometheus`: /metrics on loopback.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace headroom::cli {

/// Serves the text that was published last, from threads of its own. Only requests for a host name
/// of this machine's loopback are answered: a page in a browser that was sent here under another
/// name (DNS rebinding) gets 403.
class MetricsServer {
 public:
  /// Listens on 127.0.0.1. `port` 0: any that is free. Fails (kUsage) where the port is taken.
  static Result<std::unique_ptr<MetricsServer>> Start(int port);

  virtual ~MetricsServer() = default;
  virtual int port() const = 0;
  virtual void Publish(std::string text) = 0;
};

/// Whether the Host header of a request names this server.
bool IsLoopbackHost(const std::string& host, int port);

}  // namespace headroom::cli
