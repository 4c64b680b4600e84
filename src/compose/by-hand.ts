import { embeddedOrigin } from "./deployment.ts";

/** What only a person changes, as it stands in the history: at the terminal or the console. */

/** What a key may do, and never the key. */
export function describeKeyChange(tool: "keys create" | "keys revoke", project_id: string | null) {
  const note =
    "This cannot be undone. Create and revoke keys in the console, or with waypost keys.";
  return { tool, realm: project_id ?? embeddedOrigin, kind: "api_key", name: null, note };
}

/** What there is to say of a client key: it has no role and no scopes. */
export const clientRecord = { role: "client" };

export function describeWebhookChange(tool: "webhooks create" | "webhooks revoke", realm: string) {
  const note =
    "This cannot be undone. Create and revoke webhooks in the console, or with waypost webhooks.";
  return { tool, realm, kind: "webhook", name: null, note };
}

/** Where a webhook leads, and never its whole address: that may be a secret of its receiver's. */
export function describeReceiver(url: string, events: readonly string[]) {
  return { host: new URL(url).host, events };
}

export const projectSettings = {
  kind: "project_settings",
  note:
    "There is no undo for this. Change it back in the console with a master key, or " +
    "with waypost projects update.",
} as const;
