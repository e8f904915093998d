// HTTP server of `headroom monitor --prometheus`: /metrics on loopback, or elsewhere with a token.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace headroom::cli {

/// Where the server listens, and what clients must send.
struct MetricsAddress {
  std::string address = "127.0.0.1";
  int port = 0;       ///< 0: any free port.
  std::string token;  ///< Header `Authorization: Bearer TOKEN`; empty: not required.
};

/// Serves the most recently published text from its own threads. Without a token, answers only
/// requests for a host name of this machine's loopback. A web page that was redirected here under
/// another name (DNS rebinding) gets 403.
class MetricsServer {
 public:
  /// Fails with kUsage if the port is taken.
  static Result<std::unique_ptr<MetricsServer>> Start(const MetricsAddress& address);

  virtual ~MetricsServer() = default;
  virtual int port() const = 0;
  virtual void Publish(std::string text) = 0;
};

/// Returns true if the Host header of a request names this server.
bool IsLoopbackHost(const std::string& host, int port);

}  // namespace headroom::cli
