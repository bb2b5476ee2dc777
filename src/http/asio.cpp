// Asio and Beast are header-only; with their SEPARATE_COMPILATION macros (CMakeLists.txt) their bodies are
// compiled here, once, instead of in every file that speaks to the network.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
