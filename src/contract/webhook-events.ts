/** What a project's webhooks can be told of. */
export const webhookEvents = [
  "link.created",
  "link.updated",
  "link.deleted",
  "link.clicked",
  "install.matched",
  "job.finished",
  "approval.waiting",
] as const;

export type WebhookEvent = (typeof webhookEvents)[number];

/** What a person sends to see whether it arrives; nobody subscribes to it. */
export const testEvent = "webhook.test";
