import { measureBeside } from "./beside.ts";
import type { Ground } from "./ground.ts";
import type { Server } from "./http.ts";
import type { Row } from "./table.ts";

/** `GET /links/:id` beside a bare `node:http` that says the same. */
export async function measureSingleLink(
  waypost: Server,
  { large, samples }: Ground,
  seconds: number,
): Promise<readonly Row[]> {
  const [token = ""] = large.keys;
  const questions = samples.map(({ id }) => ({ path: `/api/v1/links/${id}`, token }));
  const [first = { path: "/", token }] = questions;
  const barrage = { seconds, status: 200, questions };
  const { ours, theirs } = await measureBeside(waypost, first, barrage);
  const target = { measure: "ratio", limit: 3.5 } as const;
  return [
    { what: "bare node:http, the same bytes", figures: theirs, ratio: 1 },
    { what: "GET /links/:id", figures: ours, ratio: ours.cpu_us / theirs.cpu_us, target },
  ];
}
