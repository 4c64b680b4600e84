/**
 * Whether calls may change anything, and whether a user must approve destructive ones. See
 * docs/approval.md.
 */
export const modes = ["read-only", "guarded", "full"] as const;
export type Mode = (typeof modes)[number];
