import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BenchResponse } from "../load/ask.ts";

/** The bare server: a `node:http` server that always sends the same response. */

// `http-server.ts` passes the response as JSON.
const { status, headers, body } = JSON.parse(process.argv[2] ?? "") as BenchResponse;

const server = createServer((_request, response) => {
  response.writeHead(status, headers).end(body);
});

server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }));
});
