import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createAppReader } from "../../../src/bulk/plan/known-apps.ts";
import { CallFailure } from "../../../src/client/call-failure.ts";
import type { Client } from "../../../src/client/client.ts";
import { androidApps } from "../../../src/contract/apps.ts";
import { createTraveller } from "../../client/traveller.ts";
import { createGate } from "../../support/clock.ts";
import { createWorld } from "../../support/world.ts";

test("a list of apps that fails beside the other one is told, and strays nowhere", async () => {
  await using world = await createWorld();
  const [failed, listed] = [createGate(), createGate()];
  const { client } = createTraveller({
    world,
    fetch: async (request) => {
      if (request.url.includes("/android_apps")) return new Response("<h1>Sign in</h1>");
      await listed.opened;
      return world.fetch(request);
    },
  });
  const call: Client["call"] = (endpoint, input, signal) => {
    const answer = client.call(endpoint, input, signal);
    if (endpoint.tool === androidApps.index.tool) answer.catch(failed.open);
    return answer;
  };
  const strays: unknown[] = [];
  const onStray = (error: unknown) => strays.push(error);
  process.on("unhandledRejection", onStray);
  const { signal } = new AbortController();
  const apps = createAppReader({ call, signal })({
    ios_app: { bundle_id: "com.example.one" },
    android_app: { package_name: "org.example.one" },
  });
  const told = expect(apps).rejects.toBeInstanceOf(CallFailure);
  await failed.opened;
  // What nobody has taken notice of is told at the end of the turn in which it failed.
  await nextTurn();
  listed.open();
  await told;
  await nextTurn();
  process.off("unhandledRejection", onStray);
  expect(strays).toEqual([]);
});
