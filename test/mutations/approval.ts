import type { Mutation } from "./mutation.ts";

/** What a person has to say before. */
export const approval: readonly Mutation[] = [
  {
    id: "B1",
    file: "src/mcp/approval/require-approval.ts",
    what: "a form's 'no' does not use the question up",
    find: `    const isFirst = await useToken(token, openState);
`,
    replace: `    if (answer.said === "no") throw refuseDeclined(request, "The user said no.");
    const isFirst = await useToken(token, openState);
`,
    tests: ["test/mcp/approval/form.test.ts"],
  },
  {
    id: "B2",
    file: "src/mcp/approval/require-approval.ts",
    what: "with a PIN set, a form's answer still counts",
    find: `answer?.said !== "opened" && !(hasPin && answer?.said === "yes")`,
    replace: `answer?.said !== "opened"`,
    tests: ["test/mcp/approval/pin.test.ts"],
  },
  {
    id: "B3",
    file: "src/mcp/approval/approval-request.ts",
    what: "target's state left out of the digest",
    find: "digestOf([key_print, realm, tool, args, target, state, ...door])",
    replace: "digestOf([key_print, realm, tool, args, target, ...door])",
    tests: ["test/mcp/approval/bypass.test.ts"],
  },
  {
    id: "B4",
    file: "src/mcp/approval/approval-token.ts",
    what: "a second spelling of a signature is accepted",
    find: "isSameSecret(signature, ",
    replace: `isSameSecret(Buffer.from(signature, "base64url").toString("base64url"), `,
    tests: ["test/mcp/approval/bypass.test.ts"],
  },
  {
    id: "B5",
    file: "src/state/approvals.ts",
    what: "askPage looks at approvals of both channels",
    find: `listCurrent(db, { digest: wanted.digest, channel: "page" })`,
    replace: "listCurrent(db, { digest: wanted.digest })",
    tests: ["test/state/approvals.test.ts"],
  },
  {
    id: "B6",
    file: "src/mcp/approval/check-pin.ts",
    what: "a right PIN works even after the tries are used up",
    find: `  const taken = await pinTries.take(id);
  if (taken === undefined) return "This PIN was not looked at.";
  if (!(await checkPin(pin, hash))) return "The PIN is wrong.";
  await taken.giveBack();
`,
    replace: `  if (await checkPin(pin, hash)) return undefined;
  const taken = await pinTries.take(id);
  if (taken === undefined) return "This PIN was not looked at.";
  return "The PIN is wrong.";
`,
    tests: ["test/mcp/approval/pin.test.ts"],
  },
  {
    id: "B7",
    file: "src/state/pin-tries.ts",
    what: "no end of tries over all approvals of a key together",
    find: "Math.min(triesForOne - pin_tries, triesForKey - newest.length)",
    replace: "triesForOne - pin_tries",
    tests: ["test/state/approvals.test.ts"],
  },
  {
    id: "B8",
    file: "src/mcp/approval/page-server.ts",
    what: "the page listens on all interfaces",
    find: ".listen({ host, port: 0 }, resolve)",
    replace: ".listen({ port: 0 }, resolve)",
    tests: ["test/mcp/approval/page-server.test.ts"],
  },
  {
    id: "B9",
    file: "src/mcp/approval/page.ts",
    what: "no check of Origin on the page",
    find: " ?? originValidationResponse(request, names)",
    replace: "",
    tests: ["test/mcp/approval/bypass.test.ts"],
  },
  {
    id: "B10",
    file: "src/state/approval-lifetimes.ts",
    what: "approval's life by the wall clock alone",
    find: "return isInTime && monotonic() < (ends.get(id) ?? Infinity);",
    replace: "return isInTime && ends.get(id) !== -1;",
    tests: ["test/state/approvals.test.ts"],
  },
  {
    id: "B11",
    file: "src/mcp/approval/approval-request.ts",
    what: "an assistant's question is the same as that of a person by hand",
    find: `isByHand ? ["by hand"] : []`,
    replace: `isByHand ? [] : []`,
    tests: ["test/web/waiting.test.ts"],
  },
  {
    id: "B12",
    file: "src/web/place.ts",
    what: "a request that a proxy has passed on counts as one of this machine",
    find: " && !isForwarded(request.headers)",
    replace: "",
    tests: ["test/web/addresses.test.ts"],
  },
];
