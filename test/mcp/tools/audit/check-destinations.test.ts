import { expect, test } from "vitest";
import type { Outcome } from "../../../../src/network/hosts/ask-address.ts";
import type { DestinationCheck } from "../../../../src/network/hosts/check-destinations.ts";
import { createAssistantWorld } from "../../../support/assistant-world.ts";

/** What is told of hosts that were asked; how they are asked is in test/network. */

const outcomes: Readonly<Record<string, Outcome>> = {
  "gone.example": { kind: "unreachable", reason: "no host of the public internet" },
  "old.example": { kind: "error_status", status: 410 },
  "moved.example": { kind: "redirects_elsewhere", host: "new.example" },
};

test("destinations that do not answer are told of by their hosts and links", async () => {
  const asked: string[] = [];
  const askDestinations: DestinationCheck = (hosts) => {
    asked.push(...hosts.map(({ host }) => host));
    const found = hosts.flatMap(({ host, addresses }) =>
      addresses.map((address) => [address, outcomes[host] ?? { kind: "reached" }] as const),
    );
    return Promise.resolve({ outcomes: new Map(found), left: 0 });
  };
  await using assistant = await createAssistantWorld({ askDestinations });
  const all = [...Object.keys(outcomes), "good.example", "good.example"];
  for (const [index, host] of all.entries()) {
    const path = `p${index}`;
    await assistant.plant("link", { path, name: path, url: `https://${host}/` });
  }
  const { structured } = await assistant.callTool("audit_links", { check_destinations: true });
  const { groups } = structured.audit;
  expect(groups.map(({ code, count }: { code: string; count: number }) => [code, count])).toEqual([
    ["destination_unreachable", 1],
    ["destination_error_status", 1],
    ["destination_redirects_elsewhere", 1],
  ]);
  const told = groups.map(({ message }: { message: string }) => message).join("\n");
  expect(told).toContain('"gone.example" (no host of the public internet)');
  expect(told).toContain('"old.example" answers 410');
  expect(told).toContain('"moved.example" leads to "new.example"');
  expect(asked).toEqual(["good.example", "gone.example", "moved.example", "old.example"]);

  asked.length = 0;
  await assistant.callTool("audit_links");
  expect(asked).toEqual([]);
});

test("where the operator has not allowed it, a call says what to set", async () => {
  await using assistant = await createAssistantWorld();
  const { structured } = await assistant.callTool("audit_links", { check_destinations: true });
  expect(structured.error).toMatchObject({
    code: "invalid_arguments",
    message: expect.stringContaining("WAYPOST_CHECK_DESTINATIONS=on"),
  });
});

test("a key has a thousand hosts asked in an hour, whichever process asks", async () => {
  await using assistant = await createAssistantWorld();
  const { hostBudget } = assistant.state;
  expect(await hostBudget.take("one", 900)).toBe(900);
  expect(await hostBudget.take("one", 200)).toBe(100);
  expect(await hostBudget.take("two", 200)).toBe(200);
  assistant.advance(60 * 60_000);
  expect(await hostBudget.take("one", 200)).toBe(200);
});
