/**
 * The path of styles and scripts. It is below the sign-in page, because signed-out visitors need
 * them too.
 */
export const assetPath = "/sign-in/files/";
