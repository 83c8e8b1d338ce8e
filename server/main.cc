#include "server/load_models.h"
#include "server/run_server.h"

int main(int argc, char** argv) {
  return scanline::RunServer({argv + 1, argv + argc}, scanline::LoadModels);
}
