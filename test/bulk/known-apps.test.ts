import { setImmediate, setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { startApps } from "../../src/bulk/known-apps.ts";
import { CallFailure } from "../../src/client/failure.ts";
import { createTraveller } from "../client/traveller.ts";
import { createWorld } from "../support/world.ts";

test("a list of apps that fails beside the other one is told, and strays nowhere", async () => {
  await using world = await createWorld();
  const { client } = createTraveller({
    world,
    fetch: async (request) => {
      if (request.url.includes("/android_apps")) return new Response("<h1>Sign in</h1>");
      await setTimeout(50);
      return world.fetch(request);
    },
  });
  const strays: unknown[] = [];
  const onStray = (error: unknown) => strays.push(error);
  process.on("unhandledRejection", onStray);
  const { signal } = new AbortController();
  const apps = startApps({ call: client.call, signal })({
    ios_app: { bundle_id: "com.example.one" },
    android_app: { package_name: "org.example.one" },
  });
  await expect(apps).rejects.toBeInstanceOf(CallFailure);
  await setTimeout(60);
  await setImmediate();
  process.off("unhandledRejection", onStray);
  expect(strays).toEqual([]);
});
