/* Buttons, icon buttons and links styled as buttons. At most one primary button per page. */

import { createLink, type LinkComponent } from "@tanstack/react-router";
import type { LucideIcon } from "lucide-react";
import { type AnchorHTMLAttributes, forwardRef, type ReactNode } from "react";
import { Button as AriaButton, type ButtonProps as AriaButtonProps, TooltipTrigger } from "react-aria-components";

import styles from "./Button.module.css";
import { cx } from "./cx";
import { Tooltip } from "./Tooltip";

export type Look = "primary" | "quiet" | "ghost" | "danger";

export interface ButtonProps extends Omit<AriaButtonProps, "children" | "className"> {
  look?: Look;
  small?: boolean;
  icon?: LucideIcon;
  children?: ReactNode;
  className?: string;
}

/** `isPending` keeps the width and is announced to screen readers. */
export function Button({ look = "quiet", small, icon: Icon, children, className, ...props }: ButtonProps) {
  return (
    <AriaButton {...props} className={cx(styles.button, styles[look], small && styles.small, className)}>
      {Icon && <Icon size={15} aria-hidden />}
      {children}
    </AriaButton>
  );
}

export interface IconButtonProps extends Omit<ButtonProps, "children"> {
  icon: LucideIcon;
  /** Accessible name and tooltip. */
  label: string;
  shortcut?: string;
}

export function IconButton({
  icon: Icon,
  label,
  shortcut,
  look = "ghost",
  small,
  className,
  ...props
}: IconButtonProps) {
  return (
    <TooltipTrigger delay={500} closeDelay={0}>
      <AriaButton
        {...props}
        aria-label={label}
        className={cx(styles.button, styles[look], styles.icon, small && styles.small, className)}
      >
        <Icon size={16} aria-hidden />
      </AriaButton>
      <Tooltip shortcut={shortcut}>{label}</Tooltip>
    </TooltipTrigger>
  );
}

interface AnchorProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  look?: Look;
  small?: boolean;
  icon?: LucideIcon;
}

const Anchor = forwardRef<HTMLAnchorElement, AnchorProps>(function Anchor(
  { look = "quiet", small, icon: Icon, children, className, ...props },
  ref,
) {
  return (
    <a {...props} ref={ref} className={cx(styles.button, styles[look], small && styles.small, className)}>
      {Icon && <Icon size={15} aria-hidden />}
      {children}
    </a>
  );
});

const CreatedLink = createLink(Anchor);

/** Router link styled as a button. */
export const ButtonLink: LinkComponent<typeof Anchor> = (props) => <CreatedLink preload={false} {...props} />;
