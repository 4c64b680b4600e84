/**
 * What endpoints of one kind have in common: an entry spreads one of these, and what it names
 * itself below that counts.
 */

export const asRead = {
  method: "GET",
  success: { status: 200 },
  effect: "read",
  idempotent: true,
  overwrites: false,
} as const;

export const asCreate = {
  method: "POST",
  success: { status: 201 },
  effect: "write",
  idempotent: false,
  overwrites: false,
} as const;

export const asUpdate = {
  method: "PATCH",
  success: { status: 200 },
  effect: "write",
  idempotent: true,
  overwrites: true,
} as const;

/** Brings back what our own service has deleted; no other deployment is known to do so. */
export const asRestore = {
  method: "POST",
  documented: false,
  hidden: true,
  success: { status: 200 },
  effect: "write",
  // What is there already is answered as it is.
  idempotent: true,
  overwrites: false,
} as const;

export const asDestroy = {
  method: "DELETE",
  success: { status: 204 },
  response: null,
  effect: "destroy",
  idempotent: true,
  overwrites: false,
} as const;
