// The table of operators changes while threads run: libraries come and go.
#pragma once

namespace fb {

// While it lives no operator joins or leaves a packet: for who goes through Packet::overloads. Short, and without a call.
class TableRead {
 public:
  TableRead();
  ~TableRead();
  TableRead(const TableRead&) = delete;
};

}  // namespace fb
