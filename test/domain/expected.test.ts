import { expect, test } from "vitest";
import { CallFailure } from "../../src/client/outcome.ts";
import { neverAborted } from "../../src/contract/waiting.ts";
import { readProjectFiles } from "../../src/domain/expected.ts";

/** Reading the apps that a domain's association files must list. */
test("check_domain fails if the server is too busy to return the project's apps", async () => {
  const facts = { effect: "none", retry: "later" } as const;
  const call = () => Promise.reject(new CallFailure("overloaded", "busy", facts));
  const access = { call, signal: neverAborted, mayRead: () => true, isOwn: false };
  await expect(readProjectFiles(access)).rejects.toMatchObject({ code: "overloaded" });
});
