import { defineText } from "./define-text.ts";

/** The words of statuses; in English they are those of the interface. */
export const statusText = defineText({
  en: {
    Ready: "Ready",
    Pending: "Pending",
    Running: "Running",
    Success: "Success",
    Failed: "Failed",
    TimeoutFailed: "Timed out",
    Paused: "Paused",
    Stopped: "Stopped",
    Terminated: "Terminated",
    Skipped: "Skipped",
    Canceled: "Canceled",
  },
  zh: {
    Ready: "就绪",
    Pending: "等待",
    Running: "执行中",
    Success: "成功",
    Failed: "失败",
    TimeoutFailed: "超时失败",
    Paused: "已暂停",
    Stopped: "已停止",
    Terminated: "已终止",
    Skipped: "已跳过",
    Canceled: "已取消",
  },
});
