/** The events that a project's webhooks can receive. */
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

/** Sent on request to test a webhook. Webhooks cannot subscribe to it. */
export const testEvent = "webhook.test";
