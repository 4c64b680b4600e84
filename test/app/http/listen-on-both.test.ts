import { expect, test } from "vitest";
import { createHttpServer } from "../../../src/app/http/http-server.ts";
import { listenOnBoth } from "../../../src/app/http/listen-on-both.ts";

test("listenOnBoth gives up if each free port is taken at the other loopback address", async () => {
  const server = createHttpServer();
  const taken = Object.assign(new Error("taken"), { code: "EADDRINUSE" });
  let tries = 0;
  for (const twin of server.twins) {
    twin.listen = () => {
      tries += 1;
      setImmediate(() => twin.emit("error", taken));
      return twin;
    };
  }
  const place = { host: "127.0.0.1", port: 0, hasLocalLinks: true };
  await expect(listenOnBoth(server, place)).rejects.toBe(taken);
  expect(tries).toBe(20);
  expect(server.listening).toBe(false);
});
