import { makeDataFile } from "../data/data-file.ts";
import { addBenchProject } from "../data/bench-project.ts";
import { fire } from "../load/fire.ts";
import { askModern, openSession, type HttpSession } from "../load/http-tools.ts";
import { bundleBare } from "../servers/bundle-bare.ts";
import { serve, startServer, type Server } from "../servers/http-server.ts";
import { comparePairs, prepareLink, type Callee } from "./compare-calls.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** Compares calls over HTTP with a server that has the same SDK but no Waypost. */
export async function* measureHttp({ extent }: Subject): Rounds {
  await using file = await makeDataFile();
  const { keys } = await addBenchProject(file, "calls", 1);
  const [key = ""] = keys;
  await using ours = await serve(file.folder);
  using bundled = await bundleBare("http");
  const modern = askModern(ours, key);
  const { params, said } = await prepareLink(modern.ask);
  await using bare = await startServer(bundled.words(said));
  const call = (server: Server, session: HttpSession) => callOverHttp(server, session, params);
  yield* comparePairs(
    [
      {
        what: "2025-11-25",
        ours: call(ours, await openSession(ours, key)),
        bare: call(bare, await openSession(bare, key)),
      },
      { what: "2026-07-28", ours: call(ours, modern), bare: call(bare, askModern(bare, key)) },
    ],
    extent,
  );
}

function callOverHttp(server: Server, session: HttpSession, params: object): Callee {
  const questions = () => session.write("tools/call", params);
  return {
    read: () => session.ask("tools/call", params),
    call: (connections, requests) =>
      fire(server, { connections, requests, status: 200, questions }),
  };
}
