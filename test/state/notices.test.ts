import { beforeEach, expect, test } from "vitest";
import type { State } from "../../src/state/state.ts";
import { openStateForEach } from "../support/state-folder.ts";

/** What webhooks are to be told of approvals, where these are. */

const at = openStateForEach();
let state: State;

beforeEach(async () => {
  state = await at.open();
});

const told = { realm: "a project", headline: "Delete the link" };
const act = { digest: "an act", preview: "{}", key_print: "one key", told };
const list = () => state.notices.list(10);

test("a page is told of once, by another id than its own, and what is by hand never", async () => {
  const asked = await state.approvals.askPage(act);
  await state.approvals.askPage(act);
  await state.approvals.askPage({ ...act, digest: "by hand", told: undefined });
  const id = "waits" in asked ? asked.waits.id : "";
  const notices = await list();
  expect(notices).toMatchObject([
    { realm: "a project", event: "approval.waiting", data: { headline: "Delete the link" } },
  ]);
  expect(JSON.stringify(notices)).not.toContain(id);
});

test("what was taken over goes, and what nobody takes over for a week", async () => {
  await state.approvals.askPage(act);
  await state.notices.remove(await list());
  expect(await list()).toEqual([]);
  await state.approvals.askPage({ ...act, digest: "another act" });
  at.now += (7 * 24 - 1) * 60 * 60 * 1000;
  await state.notices.removeEnded();
  expect(await list()).toHaveLength(1);
  at.now += 60 * 60 * 1000;
  await state.notices.removeEnded();
  expect(await list()).toEqual([]);
});
